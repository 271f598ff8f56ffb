import type { Note } from './description.ts';

const note = (code: string, zh: string, en: string): Note => ({ code, zh, en });

/** How a person knows an encoding. */
const SPOKEN: Readonly<Record<string, string>> = { gb18030: 'GB18030 (GBK)', big5: 'Big5', shift_jis: 'Shift-JIS' };
const spoken = (name: string) => SPOKEN[name] ?? name.toUpperCase();

export const encodingDoubt = (name: string, other?: string): Note =>
  note(
    'encoding_doubt',
    `编码判断为 ${spoken(name)}，但可供判断的字符很少或特征不明显${other ? `，也可能是 ${spoken(other)}` : ''}；若文字显示不对，请换编码读取`,
    `encoding judged to be ${spoken(name)} from few or unclear characters${other ? `; it could also be ${spoken(other)}` : ''}; if the text looks wrong, read it with another encoding`,
  );

export const encodingWithoutMark = (name: string): Note =>
  note(
    'encoding_no_bom',
    `${spoken(name)} 编码，没有 BOM 标记`,
    `encoded in ${spoken(name)} without a byte order mark`,
  );

export const brokenCharacters = (name: string, count: number): Note =>
  note(
    'broken_characters',
    `按 ${spoken(name)} 读取时有约 ${count} 处字符无法解码，读取时请用 encoding_errors="replace"`,
    `about ${count} places cannot be decoded as ${spoken(name)}; read with encoding_errors="replace"`,
  );

export const cutCharacter = (): Note =>
  note(
    'cut_character',
    '文件在一个字符中间结束，可能没有完整导出',
    'the file ends in the middle of a character; its export may not have finished',
  );

export const nulBytes = (): Note =>
  note('nul_bytes', '文件中含有 NUL 字节（\\x00）', 'the file contains NUL bytes (\\x00)');
