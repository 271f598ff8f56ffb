import { chardet } from 'jschardet';
import type { Note } from './description.ts';
import { brokenCharacters, encodingDoubt } from './text-notes.ts';

/** Fewer characters than this outside of ASCII make any guess between encodings doubtful. */
const FEW_CHARACTERS = 8;

/** Letters that texts of one language use; two-byte UTF-8 outside of these, or of several scripts at once, is a sign of chance. */
const SCRIPTS = [/[\u00a0-\u024f]/, /[\u0386-\u03ce]/, /[\u0400-\u04ff]/, /[\u05d0-\u05ea]/, /[\u0600-\u06ff]/];

/**
 * A few Chinese characters in GBK can be valid UTF-8 by chance (图纸 reads as ͼֽ). They are recognised where UTF-8 gives
 * only two-byte characters of mixed or odd scripts and GBK gives nothing but the 3,755 common ones (lead byte B0–D7).
 */
export function looksLikeShortGbk(sample: Buffer): boolean {
  const wide = sample.toString('utf8').match(/\P{ASCII}/gu) ?? [];
  if (wide.length === 0 || wide.length > 200 || wide.some((character) => character > '\u07ff')) return false;
  const scripts = SCRIPTS.filter((script) => wide.some((character) => script.test(character)));
  const known = wide.filter((character) => SCRIPTS.some((script) => script.test(character))).length;
  if (scripts.length === 1 && known === wide.length) return false;
  return shareOfCommonGbk(sample) === 1;
}

/** Of the characters outside of ASCII, read as GBK, the share that are among the common 3,755. */
function shareOfCommonGbk(sample: Buffer): number {
  let [common, all] = [0, 0];
  for (let n = 0; n < sample.length; n += 1) {
    const lead = sample[n]!;
    if (lead < 0x80) continue;
    n += 1;
    all += 1;
    if (lead >= 0xb0 && lead <= 0xd7 && (sample[n] ?? 0) >= 0xa1) common += 1;
  }
  return all === 0 ? 0 : common / all;
}

export interface Guess {
  readonly name: string;
  readonly notes: readonly Note[];
}

/** Names of the detector → ours. Only what `TextDecoder` reads and Python knows under the same name. */
const NAMES: Readonly<Record<string, string>> = {
  gb18030: 'gb18030',
  gbk: 'gb18030',
  gb2312: 'gb18030',
  big5: 'big5',
  'big5-hkscs': 'big5',
  cp950: 'big5',
  cp932: 'shift_jis',
  shift_jis: 'shift_jis',
  'euc-jp': 'euc-jp',
  'euc-kr': 'euc-kr',
  cp949: 'euc-kr',
  'windows-1252': 'windows-1252',
  'iso-8859-1': 'windows-1252',
  'windows-1251': 'windows-1251',
  'koi8-r': 'koi8-r',
  'windows-1250': 'windows-1250',
  'windows-1253': 'windows-1253',
  'windows-1254': 'windows-1254',
  'windows-1255': 'windows-1255',
  'windows-1256': 'windows-1256',
  'windows-1258': 'windows-1258',
  'windows-874': 'windows-874',
  'tis-620': 'windows-874',
};

const WIDE = new Set(['gb18030', 'big5', 'shift_jis', 'euc-jp', 'euc-kr']);
/** Confidence of the detector below which it knows next to nothing. */
const UNSURE = 0.02;

/** Western texts score the same in its Central European neighbour; the commoner one is meant. */
const LIKELIER: Readonly<Record<string, number>> = { 'windows-1252': 1.2 };

/** The encoding of bytes that are not UTF-8, by statistics, confirmed by decoding. */
export function legacyEncoding(sample: Buffer): Guess {
  const candidates = new Map<string, number>();
  for (const { encoding, confidence } of chardet.detectAll(sample, { encodingEra: chardet.EncodingEra.MODERN_WEB })) {
    const name = NAMES[encoding?.toLowerCase() ?? ''];
    if (name && !candidates.has(name) && decodes(sample, name, false) !== null)
      candidates.set(name, confidence * (LIKELIER[name] ?? 1));
  }
  const [best, second] = [...candidates].sort((a, b) => b[1] - a[1]);
  if (!best) return lastResort(sample);
  // The statistics fail on Chinese without a single comma or line end and name a single-byte code with hardly any confidence.
  if (
    best[1] < UNSURE &&
    !WIDE.has(best[0]) &&
    shareOfCommonGbk(sample) > 0.8 &&
    decodes(sample, 'gb18030', false) !== null
  ) {
    return { name: 'gb18030', notes: [encodingDoubt('gb18030', best[0])] };
  }
  const wide = decodes(sample, best[0], false)!.match(/\P{ASCII}/gu)?.length ?? 0;
  const doubtful = wide < FEW_CHARACTERS || (second !== undefined && second[1] * 1.5 > best[1]);
  return { name: best[0], notes: doubtful ? [encodingDoubt(best[0], second?.[0])] : [] };
}

/** Nothing decodes without a fault: the reading with the fewest faults, and the doubt is said. */
function lastResort(sample: Buffer): Guess {
  const faults = (name: string) => new TextDecoder(name).decode(sample).match(/\ufffd/g)?.length ?? 0;
  const [best] = ['gb18030', 'utf-8', 'big5', 'shift_jis']
    .map((name) => ({ name, count: faults(name) }))
    .sort((a, b) => a.count - b.count);
  return { name: best!.name, notes: [brokenCharacters(best!.name, best!.count), encodingDoubt(best!.name)] };
}

/** The text, or null where the bytes are not of this encoding. A character cut by the end of the sample is not a fault. */
export function decodes(bytes: Buffer, name: string, wide: boolean): string | null {
  try {
    const text = new TextDecoder(name, { fatal: true }).decode(bytes, { stream: true });
    // Control characters 80–9F are what wrong single-byte readings are full of.
    return !wide && /[\x80-\x84\x86-\x9f]/.test(text) ? null : text;
  } catch {
    return null;
  }
}
