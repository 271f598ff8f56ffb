/** What a place in JSON has held, as bits. */
export const JSON_KIND = { null: 1, boolean: 2, integer: 4, number: 8, string: 16, object: 32, array: 64 } as const;
const NAMES: readonly [number, string][] = [
  [JSON_KIND.string, 'string'],
  [JSON_KIND.integer, 'integer'],
  [JSON_KIND.number, 'number'],
  [JSON_KIND.boolean, 'boolean'],
  [JSON_KIND.null, 'null'],
];

/** Places that a shape keeps, over all depths; data used as keys (ids, dates) would otherwise make millions. */
const MOST_PLACES = 2000;
/** Keys of one object that are told apart; more are data used as keys. */
const MOST_KEYS = 100;
/** Characters of a shape's text. */
const LONGEST_TEXT = 2000;
const DEEPEST_TEXT = 8;

interface Place {
  kinds: number;
  /** Values seen here. */
  count: number;
  objects: number;
  keys: Map<string, Place> | null;
  moreKeys: boolean;
  element: Place | null;
  fewest: number;
  most: number;
  /** An integer beyond 2^53, which JavaScript would round. */
  big: boolean;
}

const place = (): Place => ({
  kinds: 0,
  count: 0,
  objects: 0,
  keys: null,
  moreKeys: false,
  element: null,
  fewest: Number.POSITIVE_INFINITY,
  most: 0,
  big: false,
});

/** Gathers which types stand where, from the events of a scanner. Bounded in memory, whatever the data. */
export class ShapeBuilder {
  readonly root = place();
  #places = 1;
  /** The open objects and arrays; null where the shape is no longer followed. */
  readonly #open: { at: Place | null; array: boolean; items: number }[] = [];
  #next: Place | null = this.root;

  /** Elements of the last array that was closed at the top. */
  topItems: number | null = null;

  reset(): void {
    this.#open.length = 0;
    this.#next = this.root;
  }

  value(kind: number, big = false): void {
    const at = this.#arrive(kind);
    if (at && big) at.big = true;
  }

  open(array: boolean): void {
    const at = this.#arrive(array ? JSON_KIND.array : JSON_KIND.object);
    if (at && !array) at.objects += 1;
    this.#open.push({ at, array, items: 0 });
  }

  key(name: string): void {
    const at = this.#open.at(-1)!.at;
    if (!at) {
      this.#next = null;
      return;
    }
    at.keys ??= new Map();
    let child = at.keys.get(name) ?? null;
    if (!child && at.keys.size < MOST_KEYS && this.#places < MOST_PLACES) {
      child = place();
      this.#places += 1;
      at.keys.set(name, child);
    } else if (!child) at.moreKeys = true;
    this.#next = child;
  }

  close(): void {
    const { at, array, items } = this.#open.pop()!;
    if (array && at) {
      at.fewest = Math.min(at.fewest, items);
      at.most = Math.max(at.most, items);
    }
    if (this.#open.length === 0) this.topItems = array ? items : null;
  }

  #arrive(kind: number): Place | null {
    const parent = this.#open.at(-1);
    let at = this.#next;
    if (parent?.array) {
      parent.items += 1;
      if (parent.at && !parent.at.element && this.#places < MOST_PLACES) {
        parent.at.element = place();
        this.#places += 1;
      }
      at = parent.at?.element ?? null;
    }
    if (!at) return null;
    at.kinds |= kind;
    at.count += 1;
    return at;
  }
}

/** Paths of integers beyond 2^53, such as `data.list[].id`. */
export function bigIntegers(shape: ShapeBuilder): string[] {
  const found: string[] = [];
  const walk = (at: Place, path: string): void => {
    if (at.big) found.push(path || '(top)');
    for (const [key, child] of at.keys ?? []) walk(child, path ? `${path}.${key}` : key);
    if (at.element) walk(at.element, `${path}[]`);
  };
  walk(shape.root, '');
  return found;
}

/** The shape in one line: `{ code: integer, list: [2 × { id: integer, note?: string | null }] }`. No values, at most 2,000 characters. */
export function shapeText(shape: ShapeBuilder): string {
  const text = textOf(shape.root, 0);
  return text.length > LONGEST_TEXT ? `${text.slice(0, LONGEST_TEXT)}…` : text;
}

function textOf(at: Place, depth: number): string {
  const parts = NAMES.filter(
    ([kind, name]) => at.kinds & kind && !(name === 'integer' && at.kinds & JSON_KIND.number),
  ).map(([, name]) => name);
  if (at.kinds & JSON_KIND.object) parts.push(objectText(at, depth));
  if (at.kinds & JSON_KIND.array) {
    const size = at.fewest > at.most ? '?' : at.fewest === at.most ? `${at.most}` : `${at.fewest}–${at.most}`;
    parts.push(at.element ? `[${size} × ${depth < DEEPEST_TEXT ? textOf(at.element, depth + 1) : '…'}]` : '[0]');
  }
  return parts.join(' | ') || 'empty';
}

function objectText(at: Place, depth: number): string {
  if (!at.keys) return '{}';
  if (depth >= DEEPEST_TEXT) return '{…}';
  // Ids or dates as keys: the one shape below them says more than a list of them.
  const asData = at.moreKeys || (at.keys.size > 3 && [...at.keys.keys()].every((key) => /^[\d :./T-]+$/.test(key)));
  const values = new Set(asData ? [...at.keys.values()].map((child) => textOf(child, depth + 1)) : []);
  if (values.size === 1) return `{ [${at.moreKeys ? `>${MOST_KEYS}` : at.keys.size} keys]: ${[...values][0]} }`;
  const members = [...at.keys].map(([key, child]) => {
    const shown = key.length > 60 ? `${key.slice(0, 60)}…` : key;
    const name = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(shown) ? shown : JSON.stringify(shown);
    return `${name}${child.count < at.objects ? '?' : ''}: ${textOf(child, depth + 1)}`;
  });
  return `{ ${members.join(', ')}${at.moreKeys ? ', …' : ''} }`;
}
