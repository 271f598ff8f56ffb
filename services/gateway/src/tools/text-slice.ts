import type { Readable } from 'node:stream';
import { AppError } from '@moli/errors';

type Decoder = InstanceType<typeof TextDecoder>;

/** A piece of a text file: whole lines, or the characters of a range of bytes. */
export interface TextSlice {
  readonly text: string;
  /** 1-based number of the first and the last line that `text` holds. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** More of the file follows. */
  readonly more: boolean;
  /** A line was longer than what may be shown, so its end is missing. */
  readonly cutLine: boolean;
}

/**
 * Lines `from` … of a stream of text, at most `lines` of them and `characters` in all. Reads no further than it must.
 * Throws `unreadable_file` when the bytes are no text in `encoding`.
 */
export async function readLines(
  stream: Readable,
  encoding: string,
  { from, lines, characters }: { from: number; lines: number; characters: number },
): Promise<TextSlice> {
  const decoder = decoderOf(encoding);
  let current = 1;
  let text = '';
  let taken = 0;
  let rest = '';
  let more = false;
  let cutLine = false;
  const take = (line: string): boolean => {
    if (current >= from) {
      if (taken >= lines || (text.length > 0 && text.length + line.length > characters)) {
        more = true;
        return false;
      }
      cutLine ||= line.length > characters;
      text += line.slice(0, characters).toWellFormed();
      taken++;
    }
    current++;
    return true;
  };
  scan: for await (const piece of decoded(stream, decoder)) {
    const parts = (rest + piece).split(/(?<=\n)/);
    rest = parts.at(-1)?.endsWith('\n') === false ? parts.pop()! : '';
    for (const line of parts) if (!take(line)) break scan;
    // A file without line breaks must not be held in memory as one line.
    if (rest.length > characters && current >= from && taken < lines) {
      take(rest);
      more = true;
      rest = '';
      break;
    }
  }
  if (!more && rest !== '') take(rest);
  stream.destroy();
  return { text, firstLine: from, lastLine: from + Math.max(taken, 1) - 1, more, cutLine };
}

/** The characters of a slice of bytes; halves of characters at both ends are left out. */
export function decodeBytes(bytes: Uint8Array, encoding: string): string {
  if (bytes.includes(0) && !encoding.startsWith('utf-16')) throw notText();
  const text = new TextDecoder(labelOf(encoding)).decode(bytes);
  return text.replace(/^\ufffd{1,3}|\ufffd{1,3}$/g, '');
}

/** The encoding of a file that no upload has looked at, by its first bytes; null when it is no text. */
export function guessEncoding(head: Buffer): string | null {
  if (head.length >= 2) {
    const mark = head.readUInt16BE(0);
    if (mark === 0xfffe) return 'utf-16le';
    if (mark === 0xfeff) return 'utf-16be';
  }
  if (head.includes(0)) return null;
  for (const encoding of ['utf-8', 'gb18030']) {
    try {
      // `stream`: a character cut by the end of the head is no fault.
      const text = new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true });
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary data from text
      if ((text.match(/[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/g)?.length ?? 0) * 100 <= text.length) return encoding;
    } catch {}
  }
  return null;
}

async function* decoded(stream: Readable, decoder: Decoder): AsyncGenerator<string> {
  for await (const piece of stream) {
    const text = decoder.decode(piece as Buffer, { stream: true });
    if (text.includes('\u0000')) throw notText();
    yield text;
  }
  yield decoder.decode();
}

const labelOf = (encoding: string): string => (encoding === 'utf-8-sig' ? 'utf-8' : encoding);

function decoderOf(encoding: string): Decoder {
  try {
    return new TextDecoder(labelOf(encoding));
  } catch {
    return new TextDecoder('utf-8');
  }
}

export const notText = (): AppError =>
  new AppError('unreadable_file', {
    zh: '这个文件不是文本，无法直接读取。请用 run_python 打开它。',
    en: 'This file is not text, so it cannot be read as such. Open it with run_python.',
  });
