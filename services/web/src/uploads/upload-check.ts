import type { ServerSettings } from '../api/types.ts';

export type UploadLimits = ServerSettings['upload'];

export type UploadRefusal =
  | { reason: 'type'; extension: string }
  | { reason: 'size'; bytes: number }
  | { reason: 'empty' }
  | { reason: 'name' }
  | { reason: 'content'; found: string };

/** Longest file name that file systems take, in UTF-8 bytes. */
const maxNameBytes = 255;
/** Control characters, path separators, and marks that turn the reading direction: a name must show what it is. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const dangerous = /[\u0000-\u001f\u007f-\u009f/\\\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;

export function extensionOf(name: string): string {
  const at = name.lastIndexOf('.');
  return at > 0 ? name.slice(at).toLowerCase() : '';
}

const normalised = (extension: string) => (extension.startsWith('.') ? extension : `.${extension}`).toLowerCase();

/** What is known about a file before a byte is sent. Null when nothing speaks against it; the server checks the content again. */
export function checkUpload(file: { name: string; size: number }, limits: UploadLimits): UploadRefusal | null {
  const { name, size } = file;
  if (!name.trim() || name === '.' || name === '..' || dangerous.test(name)) return { reason: 'name' };
  if (new TextEncoder().encode(name).length > maxNameBytes) return { reason: 'name' };
  const extension = extensionOf(name);
  if (!limits.types.some((type) => normalised(type.extension) === extension)) return { reason: 'type', extension };
  if (size === 0) return { reason: 'empty' };
  if (size > limits.maxBytes) return { reason: 'size', bytes: size };
  return null;
}

/** First bytes of kinds that people rename by mistake. */
const signatures: readonly { kind: string; bytes: readonly number[] }[] = [
  { kind: 'PNG', bytes: [0x89, 0x50, 0x4e, 0x47] },
  { kind: 'JPEG', bytes: [0xff, 0xd8, 0xff] },
  { kind: 'GIF', bytes: [0x47, 0x49, 0x46, 0x38] },
  { kind: 'PDF', bytes: [0x25, 0x50, 0x44, 0x46, 0x2d] },
  { kind: 'ZIP', bytes: [0x50, 0x4b, 0x03, 0x04] },
  { kind: 'EXE', bytes: [0x4d, 0x5a, 0x90, 0x00] },
  { kind: 'ELF', bytes: [0x7f, 0x45, 0x4c, 0x46] },
];
const textExtensions = new Set(['.csv', '.tsv', '.txt', '.json', '.jsonl', '.md']);

/** A text file whose first bytes are those of a picture, an archive or a program. */
export function checkContent(name: string, head: Uint8Array): UploadRefusal | null {
  if (!textExtensions.has(extensionOf(name))) return null;
  const found = signatures.find(({ bytes }) => bytes.every((byte, index) => head[index] === byte));
  return found ? { reason: 'content', found: found.kind } : null;
}

/** Kinds as people name them, all pictures as one: "CSV, XLSX, JSON and pictures". */
export function acceptedKinds(limits: UploadLimits, language: string, pictures: string): string {
  const isPicture = (type: UploadLimits['types'][number]) => type.mimeTypes.some((mime) => mime.startsWith('image/'));
  const kinds = limits.types
    .filter((type) => !isPicture(type))
    .map((type) => normalised(type.extension).slice(1).toUpperCase());
  const names = [...new Set(kinds), ...(limits.types.some(isPicture) ? [pictures] : [])];
  return new Intl.ListFormat(language, { type: 'disjunction' }).format(names);
}

/** How many of the dragged files will be taken, by kind. Before the drop only types are known, and often not even those. */
export function countDragged(
  types: readonly string[],
  limits: UploadLimits,
): { kinds: { name: string; count: number }[]; refused: number; unknown: number } {
  const counts = new Map<string, number>();
  let refused = 0;
  let unknown = 0;
  for (const type of types) {
    if (!type) {
      unknown += 1;
      continue;
    }
    const known = limits.types.find((candidate) => candidate.mimeTypes.includes(type));
    if (known) {
      const name = normalised(known.extension).slice(1).toUpperCase();
      counts.set(name, (counts.get(name) ?? 0) + 1);
    } else if (/^(text\/|application\/(octet-stream|vnd\.ms-excel))/.test(type)) unknown += 1;
    else refused += 1;
  }
  return { kinds: [...counts].map(([name, count]) => ({ name, count })), refused, unknown };
}
