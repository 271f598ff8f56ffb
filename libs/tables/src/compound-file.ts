import type { ByteSource } from './byte-source.ts';

/** First bytes of a compound file: old Office documents, and new ones under a password. */
export const COMPOUND_MAGIC = Buffer.from('d0cf11e0a1b11ae1', 'hex');
/** Entries that are looked at; the ones that say what a file is stand first. */
const MOST_SECTORS = 64;
const END_OF_CHAIN = 0xfffffffa;
const ENTRY_BYTES = 128;

/**
 * Names of the streams in a compound file ([MS-CFB] 2.2 and 2.6), from the start of its directory. Sector numbers come from the file,
 * so each is bounded by its size, and the chain by a count.
 */
export async function streamNames(source: ByteSource): Promise<string[]> {
  const header = await source.read(0, 512);
  if (header.length < 512) return [];
  const size = header.readUInt16LE(30) === 12 ? 4096 : 512;
  const names: string[] = [];
  let sector = header.readUInt32LE(48);
  for (let turn = 0; turn < MOST_SECTORS && sector < END_OF_CHAIN; turn += 1) {
    const entries = await source.read((sector + 1) * size, size);
    for (let at = 0; at + ENTRY_BYTES <= entries.length; at += ENTRY_BYTES) {
      const length = entries.readUInt16LE(at + 64);
      if (length >= 2 && length <= 64) names.push(entries.toString('utf16le', at, at + length - 2));
    }
    sector = await nextSector(source, header, sector, size);
  }
  return names;
}

/** The successor of a sector, by the allocation table; its first 109 sectors are listed in the header, which covers 6.8 MiB and more. */
async function nextSector(source: ByteSource, header: Buffer, sector: number, size: number): Promise<number> {
  const perSector = size / 4;
  const index = Math.floor(sector / perSector);
  if (index >= 109) return END_OF_CHAIN;
  const table = header.readUInt32LE(76 + index * 4);
  if (table >= END_OF_CHAIN) return END_OF_CHAIN;
  const cell = await source.read((table + 1) * size + (sector % perSector) * 4, 4);
  return cell.length === 4 ? cell.readUInt32LE(0) : END_OF_CHAIN;
}
