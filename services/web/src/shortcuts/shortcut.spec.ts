import { describe, expect, it } from 'vitest';
import { comboLabel, comboOf, isReserved, type KeyPress, matches } from './shortcut.ts';

const press = (changes: Partial<KeyPress>): KeyPress => ({
  key: '',
  code: '',
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...changes,
});

describe('comboOf', () => {
  it.each([
    [press({ key: 'k', code: 'KeyK', ctrlKey: true }), false, 'Mod+K'],
    [press({ key: 'k', code: 'KeyK', metaKey: true }), true, 'Mod+K'],
    [press({ key: 'k', code: 'KeyK', ctrlKey: true }), true, 'Ctrl+K'],
    [press({ key: '?', code: 'Slash', shiftKey: true }), false, '?'],
    [press({ key: 'ArrowDown', code: 'ArrowDown', altKey: true }), false, 'Alt+ArrowDown'],
    [press({ key: 'K', code: 'KeyK', ctrlKey: true, shiftKey: true }), false, 'Mod+Shift+K'],
    [press({ key: 'Escape', code: 'Escape' }), false, 'Escape'],
  ])('%#', (event, mac, combo) => {
    expect(comboOf(event, mac)).toBe(combo);
  });

  it('reads the physical key with Alt: on a Mac ⌥T types †', () => {
    expect(comboOf(press({ key: '†', code: 'KeyT', altKey: true }), true)).toBe('Alt+T');
  });

  it('is nothing for a lone modifier', () => {
    expect(comboOf(press({ key: 'Control', code: 'ControlLeft', ctrlKey: true }), false)).toBeNull();
  });
});

describe('matches', () => {
  const enter = press({ key: 'Enter', code: 'Enter' });
  it('never acts while an input method composes', () => {
    expect(matches(enter, ['Enter'], false)).toBe(true);
    expect(matches({ ...enter, isComposing: true }, ['Enter'], false)).toBe(false);
    expect(matches({ ...enter, keyCode: 229 }, ['Enter'], false)).toBe(false);
  });
});

describe('comboLabel', () => {
  it('prints keys as keyboards do', () => {
    expect(comboLabel('Mod+K', false)).toBe('Ctrl K');
    expect(comboLabel('Mod+K', true)).toBe('⌘K');
    expect(comboLabel('Alt+ArrowUp', false)).toBe('Alt ↑');
  });
  it('knows what browsers keep', () => {
    expect(isReserved('Mod+T')).toBe(true);
    expect(isReserved('Alt+T')).toBe(false);
  });
});
