import { crc32, deflateRawSync } from 'node:zlib';

/** A zip with the given parts, deflated. `claims` overrides the unpacked size that its directory tells. For tests. */
export function makeZip(
  parts: Readonly<Record<string, string | Buffer>>,
  claims: Readonly<Record<string, number>> = {},
): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const data = Buffer.from(content);
    const packed = deflateRawSync(data);
    const file = Buffer.from(name);
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(0x0800, 2);
    shared.writeUInt16LE(8, 4);
    shared.writeUInt32LE(crc32(data), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(claims[name] ?? data.length, 18);
    shared.writeUInt16LE(file.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), shared, file, packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\0', 'latin1'), shared, tail, file]));
    bodies.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, central, end]);
}

export interface WorkbookSpec {
  /** XML of each sheet inside of `<worksheet>`, by name. */
  readonly sheets: Readonly<Record<string, string>>;
  readonly shared?: readonly string[];
  /** Custom formats; style N of a cell is the Nth. */
  readonly formats?: readonly string[];
  readonly hidden?: readonly string[];
  readonly extra?: Readonly<Record<string, string>>;
}

/** Parts of a workbook in the way that Excel writes them. */
export function workbookParts(spec: WorkbookSpec): Record<string, string> {
  const names = Object.keys(spec.sheets);
  const relation = (id: string, type: string, target: string) =>
    `<Relationship Id="${id}" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/>`;
  const sheet = (name: string, n: number) =>
    `<sheet name="${name}" sheetId="${n + 1}" r:id="rId${n + 1}"${spec.hidden?.includes(name) ? ' state="hidden"' : ''}/>`;
  const formats = spec.formats ?? [];
  return {
    '[Content_Types].xml': '<Types/>',
    '_rels/.rels': `<Relationships>${relation('rId1', 'officeDocument', 'xl/workbook.xml')}</Relationships>`,
    'xl/workbook.xml': `<workbook xmlns:r="r"><sheets>${names.map(sheet).join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${names.map((_, n) => relation(`rId${n + 1}`, 'worksheet', `worksheets/sheet${n + 1}.xml`)).join('')}${relation('rIdS', 'sharedStrings', '/xl/sharedStrings.xml')}${relation('rIdF', 'styles', 'styles.xml')}</Relationships>`,
    'xl/styles.xml': `<styleSheet><numFmts>${formats.map((code, n) => `<numFmt numFmtId="${164 + n}" formatCode="${code.replaceAll('"', '&quot;')}"/>`).join('')}</numFmts><cellXfs>${formats.map((_, n) => `<xf numFmtId="${164 + n}"/>`).join('')}</cellXfs></styleSheet>`,
    'xl/sharedStrings.xml': `<sst>${(spec.shared ?? []).map((text) => `<si><t>${text}</t></si>`).join('')}</sst>`,
    ...Object.fromEntries(
      names.map((name, n) => [`xl/worksheets/sheet${n + 1}.xml`, `<worksheet>${spec.sheets[name]}</worksheet>`]),
    ),
    ...spec.extra,
  };
}

export const makeWorkbook = (spec: WorkbookSpec): Buffer => makeZip(workbookParts(spec));

/** Rows of inline texts and numbers as sheet data. */
export function sheetData(rows: readonly (readonly (string | number | null)[])[]): string {
  const cell = (value: string | number | null) =>
    value === null
      ? '<c/>'
      : typeof value === 'number'
        ? `<c><v>${value}</v></c>`
        : `<c t="inlineStr"><is><t>${value}</t></is></c>`;
  return `<sheetData>${rows.map((row) => `<row>${row.map(cell).join('')}</row>`).join('')}</sheetData>`;
}
