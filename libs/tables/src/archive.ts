import type { Readable } from 'node:stream';
import { AppError } from '@moli/errors';
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { type Entry, fromBufferPromise, openPromise, type ZipFile } from 'yauzl';
import type { ByteSource } from './byte-source.ts';

/** Workbooks have tens of parts, one with many pictures hundreds. */
const MOST_ENTRIES = 2000;
/** Bytes that a whole archive may claim to unpack to; beyond it is made to exhaust whoever opens it. */
const LARGEST_CLAIM = 1024 * 1024 * 1024;
/** Bytes that are unpacked of one archive in all; what lies beyond is described by what the file says of itself. */
const UNPACKED_BUDGET = 64 * 1024 * 1024;

/** Characters of one text or tag; a cell of Excel has at most 32,767. */
const LONGEST_SILENCE = 4 * 1024 * 1024;

/** Handlers of one XML part; names come without their namespace prefix. */
export interface PartReader {
  open?: (name: string, attributes: Readonly<Record<string, string>>) => void;
  close?: (name: string) => void;
  text?: (text: string) => void;
  /** Asked after each piece: true ends the reading early. */
  done?: () => boolean;
}

/** A zip whose parts are read one after the other, within bounds of count, size and time. */
export class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #name: string;
  #budget = UNPACKED_BUDGET;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>, name: string) {
    this.#zip = zip;
    this.#entries = entries;
    this.#name = name;
  }

  /** Errors: `unreadable_file` for what is no whole zip, or one that is made to harm. `name` is the file's, for messages. */
  static async open(source: ByteSource, name: string): Promise<Archive> {
    const options = { lazyEntries: true, autoClose: false, validateEntrySizes: true };
    const { origin } = source;
    const zip = await ('path' in origin
      ? openPromise(origin.path, options)
      : fromBufferPromise(await source.read(0, source.bytes), options)
    ).catch((cause: unknown) => {
      throw damaged(name, cause);
    });
    try {
      const entries = new Map<string, Entry>();
      let claimed = 0;
      if (zip.entryCount > MOST_ENTRIES)
        throw hostile(name, { zh: `有 ${zip.entryCount} 个部件`, en: `${zip.entryCount} parts` });
      for await (const entry of zip.eachEntry()) {
        claimed += entry.uncompressedSize;
        if (claimed > LARGEST_CLAIM) throw hostile(name, { zh: '超过 1 GiB', en: 'more than 1 GiB' });
        entries.set(entry.fileName.replace(/^\//, ''), entry);
      }
      return new Archive(zip, entries, name);
    } catch (error) {
      zip.close();
      throw error instanceof AppError ? error : damaged(name, error);
    }
  }

  close(): void {
    this.#zip.close();
  }

  has(part: string): boolean {
    return this.#entries.has(part);
  }

  get names(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** Streams an XML part to a reader. True when it was read to its end or the reader was done; false when the budget ended first. */
  async readXml(part: string, reader: PartReader): Promise<boolean> {
    const entry = this.#entries.get(part);
    if (!entry) return true;
    try {
      if (!entry.canDecodeFileData()) throw new Error('the part is encrypted or packed in an unknown way');
      const stream = await this.#zip.openReadStreamPromise(entry);
      return await this.#parse(stream, reader);
    } catch (error) {
      throw error instanceof AppError ? error : damaged(this.#name, error);
    }
  }

  async #parse(stream: Readable, reader: PartReader): Promise<boolean> {
    const parser = new SaxesParser({ xmlns: false, position: false });
    const local = (name: string) => name.slice(name.indexOf(':') + 1);
    parser.on('error', (error) => {
      throw error;
    });
    // Entities are declared in a DOCTYPE; no program that writes workbooks uses one.
    parser.on('doctype', () => {
      throw hostile(this.#name, { zh: '含有 DOCTYPE 声明', en: 'it declares a DOCTYPE' });
    });
    let silent = 0;
    parser.on('opentag', (tag: SaxesTagPlain) => {
      silent = 0;
      reader.open?.(local(tag.name), tag.attributes);
    });
    parser.on('closetag', (tag: SaxesTagPlain) => {
      silent = 0;
      reader.close?.(local(tag.name));
    });
    if (reader.text) parser.on('text', reader.text);
    stream.setEncoding('utf8');
    for await (const piece of stream as AsyncIterable<string>) {
      this.#budget -= piece.length;
      parser.write(piece);
      // The parser holds a text until its tag ends, however long it grows.
      silent += piece.length;
      if (silent > LONGEST_SILENCE)
        throw hostile(this.#name, { zh: '有一个单元格超过 4 MiB', en: 'one cell has more than 4 MiB' });
      if (reader.done?.()) return true;
      if (this.#budget < 0) return false;
    }
    parser.close();
    return true;
  }
}

function damaged(name: string, cause: unknown): AppError {
  return new AppError(
    'unreadable_file',
    {
      zh: `文件“${name}”已损坏或不完整，无法打开。请在 Excel/WPS 中打开并另存为新的 .xlsx 后重新上传。`,
      en: `The file “${name}” is damaged or not complete and cannot be opened. Open it in Excel or another program, save it as a new .xlsx and upload that.`,
    },
    { cause },
  );
}

function hostile(name: string, what: { zh: string; en: string }): AppError {
  return new AppError('unreadable_file', {
    zh: `文件“${name}”超出能安全打开的限度（${what.zh}），没有打开。请只保留需要的工作表，另存为新的 .xlsx 或 CSV 后上传。`,
    en: `The file “${name}” goes beyond what is safe to open (${what.en}) and was not opened. Save the sheets you need as a new .xlsx or as CSV and upload that.`,
  });
}
