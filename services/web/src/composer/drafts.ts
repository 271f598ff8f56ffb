import { type Ref, ref, watch } from 'vue';
import { readPreference, writePreference } from '../preferences/storage.ts';

/** Rest after a key before a draft is written, in milliseconds. */
const restMs = 250;

/** The unsent text of a chat, kept in this browser and changed when the chat is another one. */
export function useDraft(chat: () => string): Ref<string> {
  const text = ref(readPreference(`draft.${chat()}`, ''));
  let timer: number | undefined;
  let owner = chat();

  function keep(): void {
    window.clearTimeout(timer);
    writePreference(`draft.${owner}`, text.value || null);
  }

  watch(text, () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(keep, restMs);
  });
  watch(chat, (next) => {
    keep();
    owner = next;
    text.value = readPreference(`draft.${next}`, '');
  });
  window.addEventListener('pagehide', keep);
  return text;
}
