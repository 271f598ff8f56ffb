export interface PaletteItem {
  readonly key: string;
  readonly group: 'agents' | 'chats' | 'actions';
  readonly text: string;
  readonly note: string;
  run(): void;
}

const prefixes = { '@': 'agents', '#': 'chats', '>': 'actions' } as const;

/** The typed words without their prefix, and the group that the prefix asks for. */
export function parseQuery(query: string): { words: string; group: PaletteItem['group'] | null } {
  const first = query.trimStart()[0] as keyof typeof prefixes | undefined;
  if (first && first in prefixes) return { words: query.trimStart().slice(1).trim(), group: prefixes[first] };
  return { words: query.trim(), group: null };
}

/** Items that contain every word, those that begin with the first word in front. */
export function filterItems(items: readonly PaletteItem[], query: string): PaletteItem[] {
  const { words, group } = parseQuery(query);
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = items.filter(
    (item) => (!group || item.group === group) && wanted.every((word) => item.text.toLowerCase().includes(word)),
  );
  if (wanted.length === 0) return found;
  const rank = (item: PaletteItem) => (item.text.toLowerCase().startsWith(wanted[0]!) ? 0 : 1);
  return found.toSorted((a, b) => rank(a) - rank(b));
}

/** The text cut where the query matches: odd pieces are matches. */
export function cutMatches(text: string, query: string): string[] {
  const { words } = parseQuery(query);
  const wanted = words
    .split(/\s+/)
    .filter(Boolean)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return wanted.length === 0 ? [text] : text.split(new RegExp(`(${wanted.join('|')})`, 'gi'));
}
