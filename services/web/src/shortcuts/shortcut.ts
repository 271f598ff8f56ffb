/** A key with its modifiers as text: "Mod+K", "Alt+U", "?", "Alt+ArrowDown". Mod is Ctrl, on a Mac ⌘. */
export type Combo = string;

export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
  isComposing?: boolean;
  keyCode?: number;
}

/** Whether a press belongs to an input method that is composing; Safari ends the composition before the Enter arrives, but marks it by 229. */
export function isComposing(event: Pick<KeyPress, 'isComposing' | 'keyCode'>): boolean {
  return event.isComposing === true || event.keyCode === 229;
}

/** The name of the pressed key. With Alt the physical key counts: on a Mac ⌥T types †. */
function keyName(event: KeyPress): string {
  if (event.altKey) {
    const letter = /^(?:Key|Digit)(.)$/.exec(event.code)?.[1];
    if (letter) return letter;
  }
  return event.key.length === 1 ? event.key.toUpperCase() : event.key;
}

/** The combination that was pressed, or null for a lone modifier. */
export function comboOf(event: KeyPress, mac: boolean): Combo | null {
  if (['Control', 'Meta', 'Alt', 'Shift', 'AltGraph', 'Dead', 'Process'].includes(event.key)) return null;
  const parts: string[] = [];
  const mod = mac ? event.metaKey : event.ctrlKey;
  const other = mac ? event.ctrlKey : event.metaKey;
  if (mod) parts.push('Mod');
  if (other) parts.push(mac ? 'Ctrl' : 'Meta');
  if (event.altKey) parts.push('Alt');
  const name = keyName(event);
  // Shift is part of a printed sign such as "?", but a modifier for letters and named keys.
  const printed = event.key.length === 1 && !/[a-z0-9]/i.test(name);
  if (event.shiftKey && !printed) parts.push('Shift');
  parts.push(name);
  return parts.join('+');
}

export function matches(event: KeyPress, combos: readonly Combo[], mac: boolean): boolean {
  if (isComposing(event)) return false;
  const pressed = comboOf(event, mac);
  return pressed !== null && combos.includes(pressed);
}

const signs: Record<string, string> = {
  ArrowUp: '↑',
  ArrowDown: '↓',
  ArrowLeft: '←',
  ArrowRight: '→',
  Enter: '↵',
  Escape: 'Esc',
  Backspace: '⌫',
  ' ': 'Space',
};

/** A combination as it is printed on a key: "Ctrl K", on a Mac "⌘K". */
export function comboLabel(combo: Combo, mac: boolean): string {
  const names = combo === '+' ? ['+'] : combo.split('+').map((part) => (part === '' ? '+' : part));
  const shown = names.map((name) => {
    if (name === 'Mod') return mac ? '⌘' : 'Ctrl';
    if (name === 'Alt') return mac ? '⌥' : 'Alt';
    if (name === 'Shift') return mac ? '⇧' : 'Shift';
    return signs[name] ?? name;
  });
  return shown.join(mac ? '' : ' ');
}

/** Combinations that browsers keep for themselves; a page never sees them. */
const reserved = new Set(['Mod+T', 'Mod+N', 'Mod+W', 'Mod+Shift+N', 'Mod+Shift+T', 'Mod+Shift+W']);
export const isReserved = (combo: Combo): boolean => reserved.has(combo);
