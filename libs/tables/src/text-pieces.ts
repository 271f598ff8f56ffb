import { isAscii } from 'node:buffer';
import type { ByteSource } from './byte-source.ts';

/** The piece without a UTF-8 character that its end cuts. */
export function wholeUtf8(piece: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, piece.length); back += 1) {
    const byte = piece[piece.length - back]!;
    if (byte < 0x80) return piece;
    if (byte >= 0xc0) {
      const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
      return length > back ? piece.subarray(0, piece.length - back) : piece;
    }
  }
  return piece;
}

/** Name for `TextDecoder`. */
const labelOf = (name: string) => (name === 'utf-8-sig' ? 'utf-8' : name);

/** The text of a source, piece by piece, without its byte order mark. Broken places become U+FFFD. */
export async function* decodedPieces(
  source: ByteSource,
  encoding: { readonly name: string; readonly bom: boolean },
): AsyncGenerator<string> {
  if (labelOf(encoding.name) === 'utf-8') {
    yield* utf8Pieces(source, encoding.bom);
    return;
  }
  const decoder = new TextDecoder(labelOf(encoding.name));
  for await (const piece of source.pieces()) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

/** Buffer's own decoder takes ASCII into one-byte strings, several times faster than a streaming `TextDecoder`. */
async function* utf8Pieces(source: ByteSource, bom: boolean): AsyncGenerator<string> {
  let carry: Buffer = Buffer.alloc(0);
  let skip = bom ? 3 : 0;
  for await (const piece of source.pieces()) {
    const joined = carry.length > 0 ? Buffer.concat([carry, piece]) : piece;
    const whole = wholeUtf8(joined);
    carry = Buffer.from(joined.subarray(whole.length));
    const rest = whole.subarray(skip);
    skip = 0;
    yield isAscii(rest) ? rest.toString('latin1') : rest.toString('utf8');
  }
  if (carry.length > 0) yield carry.toString('utf8');
}
