const tables = new Map<string, Map<string, Buffer>>();

/** Text in one of the multi-byte encodings that Node decodes but does not encode: its decoder, turned around. For tests. */
export function encode(text: string, encoding: string): Buffer {
  if (encoding === 'utf-8') return Buffer.from(text);
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  const table = tables.get(encoding) ?? tableOf(encoding);
  tables.set(encoding, table);
  return Buffer.concat(
    Array.from(text, (character) => {
      const bytes = character <= '\x7f' ? Buffer.from(character) : table.get(character);
      if (!bytes) throw new Error(`${character} is not in ${encoding}`);
      return bytes;
    }),
  );
}

function tableOf(encoding: string): Map<string, Buffer> {
  const table = new Map<string, Buffer>();
  const keep = (bytes: Buffer) => {
    const text = new TextDecoder(encoding).decode(bytes);
    if (Array.from(text).length === 1 && text !== '\ufffd' && !table.has(text)) table.set(text, bytes);
  };
  for (let lead = 0x80; lead <= 0xff; lead += 1) {
    keep(Buffer.from([lead]));
    for (let trail = 0x40; trail <= 0xff; trail += 1) keep(Buffer.from([lead, trail]));
  }
  return table;
}
