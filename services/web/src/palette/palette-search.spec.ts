import { describe, expect, it } from 'vitest';
import { cutMatches, filterItems, type PaletteItem, parseQuery } from './palette-search.ts';

const item = (group: PaletteItem['group'], text: string): PaletteItem => ({
  key: text,
  group,
  text,
  note: '',
  run: () => {},
});
const items = [
  item('chats', 'Q3 report'),
  item('chats', 'report weekly'),
  item('actions', 'New chat'),
  item('agents', 'Weekly report'),
];

describe('palette', () => {
  it('narrows by prefix and by every word, beginnings first', () => {
    expect(filterItems(items, 'report').map(({ text }) => text)).toEqual([
      'report weekly',
      'Q3 report',
      'Weekly report',
    ]);
    expect(filterItems(items, '@week').map(({ text }) => text)).toEqual(['Weekly report']);
    expect(filterItems(items, '#report q3').map(({ text }) => text)).toEqual(['Q3 report']);
    expect(parseQuery('> new')).toEqual({ words: 'new', group: 'actions' });
  });

  it('cuts texts where they match, signs of patterns included', () => {
    expect(cutMatches('a (b) c', '(b)')).toEqual(['a ', '(b)', ' c']);
    expect(cutMatches('abc', '')).toEqual(['abc']);
  });
});
