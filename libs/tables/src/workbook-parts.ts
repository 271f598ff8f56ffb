import type { Archive } from './archive.ts';
import { type FormatKind, formatKind } from './number-format.ts';

export interface SheetPart {
  readonly name: string;
  readonly hidden: boolean;
  /** Path inside of the archive; null for a sheet that is only a chart. */
  readonly part: string | null;
}

export interface WorkbookParts {
  readonly sheets: readonly SheetPart[];
  readonly date1904: boolean;
  readonly formats: readonly FormatKind[];
  readonly sharedStrings: string | null;
}

/** Path of the part that lists the sheets; where it differs, `_rels/.rels` says so. */
const WORKBOOK = 'xl/workbook.xml';

/** Excel allows 31 characters. */
const LONGEST_NAME = 100;

interface Relation {
  readonly type: string;
  readonly target: string;
}

/** Reads what a workbook says of itself: sheets, date system, cell formats. */
export async function readParts(archive: Archive): Promise<WorkbookParts> {
  const root = await relations(archive, '_rels/.rels', '');
  const workbook = [...root.values()].find((each) => each.type.endsWith('/officeDocument'))?.target ?? WORKBOOK;
  const folder = workbook.slice(0, workbook.lastIndexOf('/') + 1);
  const related = await relations(archive, `${folder}_rels/${workbook.slice(folder.length)}.rels`, folder);
  const partOf = (kind: string) => [...related.values()].find((each) => each.type.endsWith(kind))?.target ?? null;
  let date1904 = false;
  const sheets: SheetPart[] = [];
  await archive.readXml(workbook, {
    open: (name, attributes) => {
      if (name === 'workbookPr') date1904 = ['1', 'true'].includes(attributes.date1904 ?? '');
      if (name !== 'sheet' || sheets.length >= 10_000) return;
      const id = Object.entries(attributes).find(([key]) => key.endsWith(':id') || key === 'id')?.[1];
      const relation = related.get(id ?? '');
      const part = relation?.type.endsWith('/worksheet') ? relation.target : null;
      sheets.push({
        name: (attributes.name ?? `${sheets.length + 1}`).slice(0, LONGEST_NAME),
        hidden: (attributes.state ?? 'visible') !== 'visible',
        part,
      });
    },
  });
  return {
    sheets,
    date1904,
    formats: await readFormats(archive, partOf('/styles')),
    sharedStrings: partOf('/sharedStrings'),
  };
}

async function relations(archive: Archive, part: string, folder: string): Promise<Map<string, Relation>> {
  const found = new Map<string, Relation>();
  await archive.readXml(part, {
    open: (name, attributes) => {
      if (name !== 'Relationship' || attributes.TargetMode === 'External' || found.size >= 10_000) return;
      found.set(attributes.Id ?? '', {
        type: attributes.Type ?? '',
        target: resolved(folder, attributes.Target ?? ''),
      });
    },
  });
  return found;
}

/** A target is relative to the folder of its part, or absolute in the archive. It only looks up a name in a map. */
function resolved(folder: string, target: string): string {
  return new URL(target, `zip:///${folder}`).pathname.slice(1);
}

async function readFormats(archive: Archive, part: string | null): Promise<FormatKind[]> {
  const custom = new Map<number, string>();
  const formats: FormatKind[] = [];
  let inCells = false;
  if (part === null) return formats;
  await archive.readXml(part, {
    open: (name, attributes) => {
      if (name === 'numFmt') custom.set(Number(attributes.numFmtId), attributes.formatCode ?? '');
      else if (name === 'cellXfs') inCells = true;
      else if (name === 'xf' && inCells && formats.length < 100_000) {
        const id = Number(attributes.numFmtId ?? 0);
        formats.push(formatKind(id, custom.get(id)));
      }
    },
    close: (name) => {
      if (name === 'cellXfs') inCells = false;
    },
  });
  return formats;
}

/** The shared texts with the given numbers. Reads up to the highest of them and no further. */
export async function readSharedStrings(
  archive: Archive,
  part: string | null,
  wanted: ReadonlySet<number>,
): Promise<Map<number, string>> {
  const found = new Map<number, string>();
  if (part === null || wanted.size === 0) return found;
  const highest = [...wanted].reduce((a, b) => Math.max(a, b));
  let [index, text, keep, phonetic] = [-1, '', false, false];
  await archive.readXml(part, {
    open: (name) => {
      if (name === 'si') {
        index += 1;
        text = '';
      } else if (name === 't') keep = !phonetic && wanted.has(index);
      else if (name === 'rPh') phonetic = true;
    },
    text: (piece) => {
      if (keep && text.length < 300) text += piece;
    },
    close: (name) => {
      if (name === 't') keep = false;
      else if (name === 'rPh') phonetic = false;
      else if (name === 'si' && wanted.has(index)) found.set(index, text.slice(0, 300));
    },
    done: () => index > highest,
  });
  return found;
}
