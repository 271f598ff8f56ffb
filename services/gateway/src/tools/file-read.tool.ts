import { AppError } from '@moli/errors';
import { Inject, Injectable } from '@nestjs/common';
import { needsSession, type SessionFile, SessionFiles } from './session-files.ts';
import { decodeBytes, guessEncoding, notText, readLines } from './text-slice.ts';
import type { ToolContext, ToolDefinition, ToolOutput } from './tool.types.ts';

const DEFAULT_LINES = 100;
const MAX_LINES = 2000;
/** Characters that the model gets of a file at once; more is asked for by the next range. */
const CHARACTERS = 16_000;
const HEAD_BYTES = 64 * 1024;

/** Kinds of uploads that are no text, and how a program opens them. */
const ADVICE: Readonly<Record<string, string>> = {
  xlsx: 'It is a workbook: use run_python with pd.read_excel(name, sheet_name=None).',
  xls: 'It is an old workbook: use run_python with pd.read_excel(name).',
  parquet: 'It is a Parquet file: use run_python with pd.read_parquet(name).',
  pdf: 'It is a PDF: use run_python with pypdf.',
  image: 'It is a picture: use run_python with PIL.Image.open(name).',
  document: 'It is a document: use run_python with python-docx or python-pptx.',
};

interface Arguments {
  readonly name: string;
  readonly start_line?: number;
  readonly max_lines?: number;
  readonly start_byte?: number;
  readonly max_bytes?: number;
}

/** Reads text out of the workspace of the session. */
@Injectable()
export class FileReadTool {
  readonly definition: ToolDefinition = {
    name: 'file_read',
    aliases: ['read_file'],
    description: [
      'Read part of a text file of this session (CSV, JSON, Markdown, code, logs): an uploaded file, or one that an earlier run made. The encoding is found by itself.',
      `Gives at most ${MAX_LINES} lines and ${CHARACTERS} characters at once; ask for the next range with start_line. For calculations on the data use run_python instead; workbooks, pictures, PDF and Parquet can only be opened there.`,
    ].join('\n'),
    parameters: {
      type: 'object',
      properties: {
        name: { type: 'string', minLength: 1, maxLength: 300, description: 'Name of the file, as file_list shows it.' },
        start_line: {
          type: 'integer',
          minimum: 1,
          maximum: 1_000_000_000,
          description: 'First line, from 1. Default 1.',
        },
        max_lines: {
          type: 'integer',
          minimum: 1,
          maximum: MAX_LINES,
          description: `Number of lines. Default ${DEFAULT_LINES}.`,
        },
        start_byte: {
          type: 'integer',
          minimum: 0,
          maximum: 1_000_000_000_000,
          description: 'Read by bytes instead of lines, from this offset. For files with very long lines.',
        },
        max_bytes: {
          type: 'integer',
          minimum: 1,
          maximum: CHARACTERS,
          description: 'Number of bytes with start_byte.',
        },
      },
      required: ['name'],
      additionalProperties: false,
    },
    kind: 'builtin',
    permissions: ['read_file'],
    flags: { cacheable: false, sideEffects: false, highRisk: false, timeoutSeconds: 30 },
    needsSession: true,
    handler: (args, context) => this.#read(args as unknown as Arguments, context),
  };

  constructor(@Inject(SessionFiles) private readonly files: SessionFiles) {}

  async #read(args: Arguments, { caller, sessionId }: ToolContext): Promise<ToolOutput> {
    if (!sessionId) throw needsSession('file_read');
    const file = await this.files.find(caller, sessionId, args.name);
    const advice = ADVICE[file.kind ?? ''] ?? (file.mimeType.startsWith('image/') ? ADVICE.image : undefined);
    if (advice) throw binary(file, advice);
    if (file.bytes === 0) return { content: `${file.name} is empty.` };
    const encoding = file.encoding ?? (await this.#guess(file));
    return args.start_byte === undefined ? this.#lines(file, encoding, args) : this.#bytes(file, encoding, args);
  }

  async #lines(file: SessionFile, encoding: string, args: Arguments): Promise<ToolOutput> {
    const from = args.start_line ?? 1;
    const { stream } = await this.files.open(file);
    const slice = await readLines(stream, encoding, {
      from,
      lines: args.max_lines ?? DEFAULT_LINES,
      characters: CHARACTERS,
    });
    if (slice.text === '') return { content: `${file.name} has no line ${from}.` };
    const notes = [
      slice.more ? `More follows: go on with start_line ${slice.lastLine + 1}.` : 'This is the end of the file.',
      ...(slice.cutLine ? ['A line was cut; read it with start_byte.'] : []),
    ].join(' ');
    return {
      content: `${file.name} (${encoding}), lines ${slice.firstLine}-${slice.lastLine}. ${notes}\n\n${slice.text}`,
    };
  }

  async #bytes(
    file: SessionFile,
    encoding: string,
    { start_byte = 0, max_bytes = CHARACTERS }: Arguments,
  ): Promise<ToolOutput> {
    if (start_byte >= file.bytes) return { content: `${file.name} has only ${file.bytes} bytes.` };
    // Two-byte encodings are read from an even offset.
    const start = encoding.startsWith('utf-16') ? start_byte - (start_byte % 2) : start_byte;
    const end = Math.min(start + max_bytes, file.bytes) - 1;
    const bytes = await this.#collect(file, start, end);
    const more =
      end + 1 < file.bytes ? `More follows: go on with start_byte ${end + 1}.` : 'This is the end of the file.';
    return {
      content: `${file.name} (${encoding}), bytes ${start}-${end} of ${file.bytes}. ${more}\n\n${decodeBytes(bytes, encoding)}`,
    };
  }

  async #guess(file: SessionFile): Promise<string> {
    const encoding = guessEncoding(await this.#collect(file, 0, Math.min(HEAD_BYTES, file.bytes) - 1));
    if (encoding === null) throw notText();
    return encoding;
  }

  async #collect(file: SessionFile, start: number, end: number): Promise<Buffer> {
    const { stream } = await this.files.open(file, { start, end });
    const pieces: Buffer[] = [];
    for await (const piece of stream) pieces.push(piece as Buffer);
    return Buffer.concat(pieces);
  }
}

const binary = (file: SessionFile, advice: string): AppError =>
  new AppError('unreadable_file', {
    zh: `“${file.name}”不是文本文件，file_read 读不了。${advice}`,
    en: `"${file.name}" is not a text file, so file_read cannot read it. ${advice}`,
  });
