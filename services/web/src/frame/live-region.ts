import { ref } from 'vue';

/** What the one polite live region says now. */
export const announcement = ref('');

/** Tells people who listen instead of looking. Never for single tokens. */
export function announce(text: string): void {
  announcement.value = '';
  requestAnimationFrame(() => {
    announcement.value = text;
  });
}
