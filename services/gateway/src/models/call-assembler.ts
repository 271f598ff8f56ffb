import type { AppError } from '@moli/errors';
import { parseExact } from './exact-json.ts';
import { ambiguousError } from './model-error.ts';
import type { ModelCall } from './provider.types.ts';

/** A piece of a call as a frame carries it. Any field may be missing, null, empty or of another type. */
export interface CallFragment {
  readonly index: number | undefined;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Slot {
  readonly index: number | undefined;
  id: string;
  /** Names in the order they came; a repeated one is kept once. */
  names: string[];
  /** Pieces of the arguments in the order they came, without empty ones. */
  pieces: string[];
  /** All pieces joined; grows with them, so that no piece costs the length of all before it. */
  text: string;
}

/** Puts calls together from what servers really send. Which call a piece belongs to is decided here; whether it is right, by the tools. */
export class CallAssembler {
  readonly #slots: Slot[] = [];
  readonly #offered: ReadonlySet<string>;
  readonly #newId: () => string;

  constructor(offered: readonly string[], newId: () => string) {
    this.#offered = new Set(offered);
    this.#newId = newId;
  }

  get size(): number {
    return this.#slots.length;
  }

  /** Takes the pieces of one frame. Two named pieces of one frame are never the same call. */
  push(fragments: readonly CallFragment[]): void {
    const touched = new Set<Slot>();
    for (const fragment of fragments) {
      const slot = this.#slotFor(fragment, touched) ?? this.#open(fragment);
      touched.add(slot);
      if (fragment.id && !slot.id) slot.id = fragment.id;
      if (fragment.name && !slot.names.includes(fragment.name)) slot.names.push(fragment.name);
      if (fragment.arguments) {
        slot.pieces.push(fragment.arguments);
        slot.text += fragment.arguments;
      }
    }
  }

  /** The calls in the order they began. `fault` when a piece cannot be given to any call with certainty. */
  finish(): { calls: ModelCall[]; fault?: AppError } {
    const calls: ModelCall[] = [];
    const ids = new Set<string>();
    const slots = this.#inOrder();
    for (const [i, slot] of slots.entries()) {
      const name = this.#nameOf(slot);
      // A last frame that says the name once more and nothing else is no second call.
      const previous = slots[i - 1];
      if (
        !slot.id &&
        slot.pieces.length === 0 &&
        previous?.index === slot.index &&
        previous &&
        this.#nameOf(previous) === name
      )
        continue;
      if (!name) {
        return {
          calls: [],
          fault: ambiguousError({ zh: '参数没有对应的工具名', en: 'arguments without the name of a tool' }),
        };
      }
      const id = slot.id && !ids.has(slot.id) ? slot.id : this.#newId();
      ids.add(id);
      calls.push({ id, name, arguments: joinPieces(slot.pieces) });
    }
    return { calls };
  }

  /** By index where every call has its own; else as they began. */
  #inOrder(): readonly Slot[] {
    const indexes = this.#slots.map((slot) => slot.index);
    if (indexes.includes(undefined) || new Set(indexes).size < indexes.length) return this.#slots;
    return this.#slots.toSorted((a, b) => a.index! - b.index!);
  }

  #open(fragment: CallFragment): Slot {
    const slot: Slot = { index: fragment.index, id: fragment.id, names: [], pieces: [], text: '' };
    this.#slots.push(slot);
    return slot;
  }

  /** The call that a piece goes on with, or undefined when it begins a new one. */
  #slotFor(fragment: CallFragment, touched: ReadonlySet<Slot>): Slot | undefined {
    if (fragment.id) {
      const known = this.#slots.findLast((slot) => slot.id === fragment.id);
      // Some relays give every call the same id: then the index tells them apart.
      if (known && (known.index === fragment.index || fragment.index === undefined)) return known;
    }
    const candidate =
      fragment.index === undefined ? this.#slots.at(-1) : this.#slots.findLast((slot) => slot.index === fragment.index);
    if (!candidate || this.#beginsAnother(fragment, candidate, touched.has(candidate))) return undefined;
    return candidate;
  }

  #beginsAnother(fragment: CallFragment, candidate: Slot, sameFrame: boolean): boolean {
    if (!fragment.name) return false;
    if (sameFrame) return true;
    const otherId = fragment.id !== '' && candidate.id !== '' && fragment.id !== candidate.id;
    const sofar = candidate.text;
    const current = candidate.names.at(-1) ?? '';
    if (this.#offered.has(fragment.name) && this.#offered.has(current) && fragment.name !== current) return true;
    if (sofar === '') return otherId;
    if (otherId) return fragment.arguments === '' || fragment.arguments.trimStart().startsWith('{');
    // The same name again: a server that repeats it on every piece, or repeats all so far; unless the call was already whole.
    if (fragment.arguments.length >= sofar.length && fragment.arguments.startsWith(sofar)) return false;
    if (!candidate.pieces.at(-1)!.trimEnd().endsWith('}')) return false;
    return isWhole(joinPieces(candidate.pieces)) && (fragment.arguments === '' || !isWhole(sofar + fragment.arguments));
  }

  /** Names come whole, repeated, growing, or in splinters: the reading that names an offered tool wins. */
  #nameOf(slot: Slot): string {
    const joined = slot.names.join('');
    if (this.#offered.has(joined)) return joined;
    const offered = slot.names.filter((name) => this.#offered.has(name.trim()));
    const last = slot.names.at(-1) ?? '';
    if (offered.length > 0) return offered.at(-1)!.trim();
    return (last.startsWith(slot.names[0] ?? '') ? last : joined).trim();
  }
}

/**
 * The arguments from their pieces. Plain concatenation where that is whole JSON; else the other things that servers are known to do:
 * every frame repeats all so far, the last frame repeats the whole, or an empty object stands first as a place holder.
 */
function joinPieces(pieces: readonly string[]): string {
  const joined = pieces.join('');
  if (pieces.length < 2 || isWhole(joined)) return joined;
  const last = pieces.at(-1)!;
  if (isWhole(last)) {
    const cumulative = pieces.every((piece, i) => i === 0 || piece.startsWith(pieces[i - 1]!));
    if (cumulative) return last;
    const before = pieces.slice(0, -1).join('');
    if (before === last) return last;
  }
  if (pieces[0]!.trim() === '{}') {
    const rest = joinPieces(pieces.slice(1));
    if (isWhole(rest)) return rest;
  }
  return joined;
}

function isWhole(text: string): boolean {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return false;
  try {
    parseExact(trimmed);
    return true;
  } catch {
    return false;
  }
}
