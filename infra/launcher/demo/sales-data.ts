/** Days before 2026-10-01 that the file covers: ten months, so that "the last three" leaves something out. */
const DAYS = 304;
const END = Date.UTC(2026, 8, 30);
const REGIONS = ['华东', '华南', '华北', '西南'];
const PRODUCTS = ['茉莉花茶', '龙井', '普洱', '乌龙'];

/** A sales table as a shop would export it, the same at every call: date, region, product, quantity, amount. UTF-8 with BOM, as Excel writes it. */
export function salesCsv(): string {
  const random = sequence(20261001);
  const rows: string[] = [];
  for (let day = DAYS; day >= 0; day -= 1) {
    const date = new Date(END - day * 86_400_000);
    const season = 1 + 0.25 * Math.sin((date.getUTCMonth() / 12) * 2 * Math.PI) + (DAYS - day) / DAYS / 3;
    for (let n = 0; n < 3; n += 1) {
      const quantity = 5 + Math.floor(random() * 40 * season);
      const price = 28 + Math.floor(random() * 60);
      const cells = [
        date.toISOString().slice(0, 10),
        REGIONS[Math.floor(random() * 4)],
        PRODUCTS[Math.floor(random() * 4)],
        quantity,
        (quantity * price).toFixed(2),
      ];
      rows.push(cells.join(','));
    }
  }
  return `\ufeff日期,地区,产品,数量,销售额\r\n${rows.join('\r\n')}\r\n`;
}

/** mulberry32: small, fast, the same on every machine; nothing secret hangs on it. */
function sequence(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
