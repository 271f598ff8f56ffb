import { isAscii, isUtf8 } from 'node:buffer';
import type { ByteSource } from './byte-source.ts';
import type { Note } from './description.ts';
import { decodes, legacyEncoding, looksLikeShortGbk } from './legacy-encoding.ts';
import { brokenCharacters, cutCharacter, encodingDoubt, encodingWithoutMark, nulBytes } from './text-notes.ts';
import { wholeUtf8 } from './text-pieces.ts';

export interface Encoding {
  /** The name that Python and `TextDecoder` share: see `Table.encoding`. */
  readonly name: string;
  readonly bom: boolean;
  readonly notes: readonly Note[];
}

/** Bytes of the text that the statistics look at (about 20 ms of one core). */
const SAMPLE_BYTES = 64 * 1024;
const UTF8_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * Finds the encoding of a text: byte order mark, strict UTF-8 of the whole file, UTF-16 without a mark, then statistics on the
 * parts outside of ASCII, each candidate confirmed by decoding. Null where no encoding makes a text of it.
 */
export async function detectEncoding(source: ByteSource): Promise<Encoding | null> {
  const head = await source.read(0, SAMPLE_BYTES);
  const wide = wideByMark(head);
  if (wide) return { name: wide, bom: true, notes: [] };
  const unmarked = wideWithoutMark(head);
  if (unmarked) return { name: unmarked, bom: false, notes: [encodingWithoutMark(unmarked)] };
  if (hasBinary(head)) return null;
  // Japanese of mail and mainframes: ASCII bytes with escapes that switch tables on and off.
  if (isAscii(head) && head.includes('\x1b$B') && head.includes('\x1b('))
    return { name: 'iso-2022-jp', bom: false, notes: [] };
  const scan = await scanBytes(source);
  const found = byScan(scan, head.subarray(0, 3).equals(UTF8_MARK));
  return scan.nul ? { ...found, notes: [...found.notes, nulBytes()] } : found;
}

function byScan(scan: Scan, bom: boolean): Encoding {
  if (scan.sample.length === 0) return { name: 'utf-8', bom, notes: [] };
  if (!scan.utf8 && !bom) return { ...legacyEncoding(scan.sample), bom };
  const notes: Note[] = [];
  if (scan.broken > 0) notes.push(brokenCharacters('utf-8', scan.broken));
  if (scan.cut) notes.push(cutCharacter());
  if (notes.length === 0 && !bom && looksLikeShortGbk(scan.sample)) {
    return { name: 'gb18030', bom, notes: [encodingDoubt('gb18030', 'utf-8')] };
  }
  return { name: bom ? 'utf-8-sig' : 'utf-8', bom, notes };
}

function wideByMark(head: Buffer): string | null {
  const mark = head.length >= 2 ? head.readUInt16BE(0) : 0;
  const name = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : null;
  return name && readsAsWide(head.subarray(2), name) ? name : null;
}

/** UTF-16 without a mark shows as zero bytes in every second place: digits, commas and line ends are ASCII. */
function wideWithoutMark(head: Buffer): string | null {
  const zeros = [0, 0];
  for (let n = 0; n < head.length; n += 1) if (head[n] === 0) zeros[n & 1]! += 1;
  const [even, odd] = zeros as [number, number];
  // Some Chinese characters hold a zero byte themselves (销 is 9500), so the other place is not always clean.
  if (Math.max(even, odd) * 200 < head.length || Math.min(even, odd) * 4 > Math.max(even, odd)) return null;
  const name = odd > even ? 'utf-16le' : 'utf-16be';
  return readsAsWide(head, name) ? name : null;
}

function readsAsWide(bytes: Buffer, name: string): boolean {
  const text = decodes(bytes.subarray(0, bytes.length & ~1), name, true);
  return text !== null && !/(?![\t-\r])[\p{Cc}\p{Cn}\p{Co}]/u.test(text);
}

/** Zero bytes or a crowd of control characters: no text that people exchange. */
function hasBinary(head: Buffer): boolean {
  let controls = 0;
  for (const byte of head) {
    if (byte === 0) return true;
    if (byte < 32 && byte !== 9 && byte !== 10 && byte !== 13 && byte !== 12 && byte !== 27) controls += 1;
  }
  return controls * 200 > head.length;
}

interface Scan {
  /** Lines with bytes outside of ASCII, up to `SAMPLE_BYTES`. */
  readonly sample: Buffer;
  readonly utf8: boolean;
  /** Pieces that are not valid UTF-8 hold this many broken places, against so many good characters. */
  readonly broken: number;
  readonly good: number;
  readonly cut: boolean;
  readonly nul: boolean;
}

/** One pass over all bytes: a file can be ASCII for megabytes before the first name that is not. */
async function scanBytes(source: ByteSource): Promise<Scan> {
  let carry: Buffer = Buffer.alloc(0);
  const samples: Buffer[] = [];
  let sampled = 0;
  let [broken, good, brokenPieces, nul] = [0, 0, 0, false];
  for await (const piece of source.pieces()) {
    if (!nul && piece.includes(0)) nul = true;
    if (carry.length === 0 && isAscii(piece)) continue;
    if (sampled < SAMPLE_BYTES) {
      const lines = linesOutsideAscii(piece, SAMPLE_BYTES - sampled, samples.length === 0);
      samples.push(lines);
      sampled += lines.length;
    }
    const joined = carry.length > 0 ? Buffer.concat([carry, piece]) : piece;
    const whole = wholeUtf8(joined);
    carry = Buffer.from(joined.subarray(whole.length));
    if (isUtf8(whole)) {
      if (good < 1e6) good += countWide(whole);
    } else if (brokenPieces < 8) {
      brokenPieces += 1;
      const text = whole.toString('utf8');
      broken += text.match(/\ufffd+/g)?.length ?? 0;
      good += text.match(/(?!\ufffd)\P{ASCII}/gu)?.length ?? 0;
    }
  }
  const cut = carry.length > 0;
  // A text with a few broken places in thousands of good characters is UTF-8 that something damaged.
  const utf8 = broken === 0 ? !cut || good > 0 : good > 20 * (broken + 1);
  return { sample: Buffer.concat(samples), utf8, broken, good, cut, nul };
}

/** Multi-byte characters of a valid piece: its bytes that are not continuation bytes and not ASCII. */
function countWide(piece: Buffer): number {
  let count = 0;
  for (let n = 0; n < piece.length && n < SAMPLE_BYTES; n += 1) if (piece[n]! >= 0xc0) count += 1;
  return count;
}

/** Whole lines with bytes outside of ASCII. `first` is true for the start of the file: others begin inside of a line, maybe of a character. */
function linesOutsideAscii(piece: Buffer, room: number, first: boolean): Buffer {
  const parts: Buffer[] = [];
  let size = 0;
  const newline = first ? -1 : piece.indexOf(10);
  if (!first && newline < 0) return Buffer.alloc(0);
  for (let n = newline + 1; n < piece.length && size < room; n += 1) {
    if (piece[n]! < 0x80) continue;
    const end = piece.indexOf(10, n);
    if (end < 0 && size > 0) break;
    // What stands before the first such byte of a line is ASCII, so this cut is never inside of a character.
    const start = Math.max(piece.lastIndexOf(10, n) + 1, n - 512);
    const line = piece.subarray(start, end < 0 ? piece.length : end + 1).subarray(0, room - size);
    parts.push(line);
    size += line.length;
    n = end < 0 ? piece.length : end;
  }
  return Buffer.concat(parts);
}
