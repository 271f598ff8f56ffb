import { type BuiltTable, TableBuilder } from './table-builder.ts';

/** Pages that web systems export as “Excel” are small; a larger one is named, not read. */
export const LARGEST_PAGE_CHARACTERS = 16 * 1024 * 1024;

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };
const TAG = /<(\/?)(table|tr|td|th)\b[^>]*>/gi;

/** The first table of a page that has rows, or null. Text only: nothing of the page is run, fetched or kept. */
export function firstHtmlTable(page: string): BuiltTable | null {
  const builder = new TableBuilder();
  let [rows, depth] = [0, 0];
  let row: string[] | null = null;
  let cellFrom = -1;
  const endCell = (to: number) => {
    if (row && cellFrom >= 0) row.push(plainText(page.slice(cellFrom, to)));
    cellFrom = -1;
  };
  const endRow = (to: number) => {
    endCell(to);
    if (row && row.length > 0) {
      builder.addCells(row);
      rows += 1;
    }
    row = null;
  };
  for (const match of page.matchAll(TAG)) {
    const closing = match[1] === '/';
    const tag = match[2]!.toLowerCase();
    if (tag === 'table' && !closing) depth += 1;
    else if (tag === 'table') {
      endRow(match.index);
      if (rows > 0) break;
      depth = Math.max(depth - 1, 0);
    } else if (depth === 0) continue;
    else if (tag === 'tr') {
      endRow(match.index);
      if (!closing) row = [];
    } else if (tag === 'td' || tag === 'th') {
      endCell(match.index);
      if (!closing && row) cellFrom = match.index + match[0].length;
    }
  }
  endRow(page.length);
  return rows > 0 ? builder.finish() : null;
}

function plainText(html: string): string {
  return html
    .replaceAll(/<br\s*\/?>/gi, ' ')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(
      /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|([a-z]+));/gi,
      (whole, decimal?: string, hex?: string, name?: string) => {
        if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
        const code = decimal === undefined ? Number.parseInt(hex!, 16) : Number(decimal);
        return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
      },
    )
    .replaceAll(/\s+/g, ' ')
    .trim();
}
