import { AppError } from '@moli/errors';

/** Bytes of UTF-8 that every common file system takes as one name. */
const LONGEST_BYTES = 255;

export type NameFault = 'empty' | 'dots' | 'separator' | 'control' | 'too_long' | 'invisible' | 'edges' | 'malformed';

/** Variation selectors choose between drawings of one character (emoji, Japanese names): they belong to it and hide nothing. */
const INVISIBLE = /(?![\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}])[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const CONTROL = /\p{Cc}/u;
const EDGES = /^[\p{Zs}\s.]|[\p{Zs}\s.]$/u;

/**
 * The name under which an uploaded file is kept: the given one in Unicode form NFC (macOS sends decomposed letters), otherwise unchanged.
 * A dangerous name is refused, never cleaned: a cleaned name is one that nobody chose. Errors: `invalid_name` with `fields.reason`.
 */
export function acceptFileName(given: string): string {
  const name = given.normalize('NFC');
  const fault = faultOf(name);
  if (!fault) return name;
  const why = EXPLANATIONS[fault];
  throw new AppError(
    'invalid_name',
    {
      zh: `文件名“${shown(name)}”不可用：${why.zh}。请改名后重新上传。`,
      en: `The file name “${shown(name)}” cannot be used: ${why.en}. Rename the file and upload it again.`,
    },
    { fields: { reason: fault } },
  );
}

/** Why a name (in NFC) is refused, or null. */
export function faultOf(name: string): NameFault | null {
  if (name === '') return 'empty';
  if (!name.isWellFormed()) return 'malformed';
  if (name === '.' || name === '..') return 'dots';
  if (/[/\\]/.test(name)) return 'separator';
  if (CONTROL.test(name)) return 'control';
  if (INVISIBLE.test(name)) return 'invisible';
  if (EDGES.test(name)) return 'edges';
  if (Buffer.byteLength(name, 'utf8') > LONGEST_BYTES) return 'too_long';
  return null;
}

const EXPLANATIONS: Record<NameFault, { zh: string; en: string }> = {
  empty: { zh: '它是空的', en: 'it is empty' },
  malformed: { zh: '它不是有效的 Unicode 文本', en: 'it is not valid Unicode text' },
  dots: { zh: '“.”和“..”表示文件夹', en: '“.” and “..” stand for folders' },
  separator: { zh: '它含有“/”或“\\”', en: 'it contains “/” or “\\”' },
  control: { zh: '它含有控制字符（如换行或 NUL）', en: 'it contains control characters, such as a line break or NUL' },
  invisible: {
    zh: '它含有看不见的字符（如从右到左标记），显示的名字会与实际不同',
    en: 'it contains invisible characters, such as right-to-left marks, so what it shows is not what it is',
  },
  edges: { zh: '它以空格或点开头或结尾', en: 'it starts or ends with a blank or a dot' },
  too_long: {
    zh: `它超过 ${LONGEST_BYTES} 字节（约 85 个汉字）`,
    en: `it is longer than ${LONGEST_BYTES} bytes of UTF-8`,
  },
};

/** The refused name, with what cannot be seen written as its code point, and cut: it goes into a message. */
function shown(name: string): string {
  const visible = Array.from(name.slice(0, 60).toWellFormed(), (character) =>
    CONTROL.test(character) || INVISIBLE.test(character) ? `\\u{${character.codePointAt(0)!.toString(16)}}` : character,
  ).join('');
  return name.length > 60 ? `${visible}…` : visible;
}
