import { defineStore } from 'pinia';
import { computed, onScopeDispose, ref } from 'vue';
import { readPreference, writePreference } from '../preferences/storage.ts';
import { type Combo, comboLabel, isComposing, matches } from './shortcut.ts';

export const shortcutGroups = {
  write: ['editLast', 'stop', 'addFiles', 'focusComposer'],
  move: ['palette', 'newChat', 'nextChat', 'previousChat', 'newest'],
  look: ['trace', 'files', 'unfoldCode', 'toggleRail'],
  result: ['runAgain', 'copyAnswer', 'shortcutList', 'settings'],
} as const;

export type ShortcutId = (typeof shortcutGroups)[keyof typeof shortcutGroups][number];

export const defaultCombos: Readonly<Record<ShortcutId, readonly Combo[]>> = {
  editLast: ['ArrowUp'],
  stop: ['Escape'],
  addFiles: ['Alt+A'],
  focusComposer: ['Alt+I'],
  palette: ['Mod+K'],
  newChat: ['Alt+N'],
  nextChat: ['Alt+ArrowDown'],
  previousChat: ['Alt+ArrowUp'],
  newest: ['Alt+End'],
  trace: ['Alt+T', 'Mod+T'],
  files: ['Alt+F'],
  unfoldCode: ['Alt+C'],
  toggleRail: ['Alt+B'],
  runAgain: ['Alt+R'],
  copyAnswer: ['Alt+Y'],
  shortcutList: ['?'],
  settings: ['Mod+,'],
};

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

// biome-ignore lint/suspicious/noConfusingVoidType: most handlers answer nothing
type Handler = () => boolean | void;

/** Keys and what they do. A handler that answers false lets the key through. */
export const useShortcuts = defineStore('shortcuts', () => {
  const changed = ref(readPreference<Partial<Record<ShortcutId, Combo[]>>>('shortcuts', {}));
  const handlers = new Map<ShortcutId, Handler[]>();
  /** True while a key is being recorded: nothing else may act on it. */
  const recording = ref(false);

  const combos = computed(() => ({ ...defaultCombos, ...changed.value }) as Record<ShortcutId, readonly Combo[]>);

  function set(id: ShortcutId, combo: Combo): void {
    const next = { ...changed.value, [id]: [combo] };
    // One key does one thing: who had it before loses it.
    for (const [other, keys] of Object.entries(combos.value) as [ShortcutId, readonly Combo[]][]) {
      if (other !== id && keys.includes(combo)) next[other] = keys.filter((key) => key !== combo);
    }
    changed.value = next;
    writePreference('shortcuts', next);
  }

  function reset(): void {
    changed.value = {};
    writePreference('shortcuts', null);
  }

  function label(id: ShortcutId): string {
    const combo = combos.value[id][0];
    return combo ? comboLabel(combo, isMac) : '';
  }

  function on(id: ShortcutId, handler: Handler): () => void {
    const list = handlers.get(id) ?? [];
    handlers.set(id, [...list, handler]);
    return () =>
      handlers.set(
        id,
        (handlers.get(id) ?? []).filter((known) => known !== handler),
      );
  }

  function press(event: KeyboardEvent): void {
    if (recording.value || event.defaultPrevented || isComposing(event)) return;
    const typing = isTyping(event.target);
    for (const [id, keys] of Object.entries(combos.value) as [ShortcutId, readonly Combo[]][]) {
      if (!matches(event, keys, isMac)) continue;
      // A bare sign belongs to the field one types in; the composer asks for ↑ itself.
      const bare = !event.ctrlKey && !event.metaKey && !event.altKey && event.key !== 'Escape';
      if (bare && typing) continue;
      const handler = handlers.get(id)?.at(-1);
      if (!handler || handler() === false) continue;
      event.preventDefault();
      return;
    }
  }

  window.addEventListener('keydown', press);
  return { combos, recording, set, reset, label, on };
});

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Binds a key for as long as the component lives. The one bound last wins. */
export function useShortcut(id: ShortcutId, handler: Handler): void {
  onScopeDispose(useShortcuts().on(id, handler));
}
