import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Set to write the documents anew instead of comparing: `MOLI_WRITE_DOCS=1 npx vitest run test/docs`. */
const WRITE = process.env.MOLI_WRITE_DOCS === '1';

/** The committed text of a generated document; writes `text` first when asked to. */
export function committedDoc(name: string, text: string): string {
  const path = fileURLToPath(new URL(`../../docs/${name}`, import.meta.url));
  if (WRITE) writeFileSync(path, text);
  return readFileSync(path, 'utf8');
}

/** One row of a Markdown table; a bar would end the cell. */
export function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [row(...head), row(...head.map(() => '---')), ...rows.map((cells) => row(...cells))].join('\n');
}
