import { defineStore } from 'pinia';
import { ref, watch } from 'vue';
import { readPreference, writePreference } from './storage.ts';

export type Theme = 'system' | 'light' | 'dark';
export type SendKey = 'enter' | 'mod-enter';

/** Settings of the person that live in this browser. */
export const usePreferences = defineStore('preferences', () => {
  const theme = ref(readPreference<Theme>('theme', 'system'));
  const sendKey = ref(readPreference<SendKey>('sendKey', 'enter'));
  const inspector = ref(readPreference<'trace' | 'files' | null>('inspector', null));

  const dark = matchMedia('(prefers-color-scheme: dark)');
  function applyTheme(): void {
    const isDark = theme.value === 'dark' || (theme.value === 'system' && dark.matches);
    document.documentElement.dataset.theme = isDark ? 'dark' : 'light';
  }
  dark.addEventListener('change', applyTheme);
  watch(theme, (value) => {
    writePreference('theme', value);
    applyTheme();
  });
  watch(sendKey, (value) => writePreference('sendKey', value));
  watch(inspector, (value) => writePreference('inspector', value));
  return { theme, sendKey, inspector };
});
