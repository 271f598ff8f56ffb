import { type ChatRequest, lastUserText, textOf } from './script.ts';

/** A table file as the request describes it: in the first line name and encoding, in the next one the columns with their types. */
export interface TableFile {
  readonly name: string;
  /** As Python reads it. */
  readonly encoding?: string;
  readonly dateColumn?: string;
  readonly valueColumn?: string;
}

const QUOTED = '"(?:[^"\\\\]|\\\\.)*"';
const DESCRIPTION = new RegExp(`(?:文件|file) (${QUOTED})`, 'gi');
const COLUMN = new RegExp(`(${QUOTED}) (日期时间|日期|整数|数值|datetime|date|integer|number)`, 'g');
const ENCODING = /(?:编码|encoding) ([\w-]+)(?: \(Python: ([\w-]+)\))?/;
const SALES = /销售额|金额|营业额|收入|sales|revenue|amount|total/i;

/** The table file that the last message names, else the one described last. */
export function tableFile(request: ChatRequest): TableFile | undefined {
  const text = request.messages
    .filter((message) => message.role === 'system')
    .map(textOf)
    .join('\n');
  const asked = lastUserText(request);
  const starts = [...text.matchAll(DESCRIPTION)];
  const files = starts.map((start, n) =>
    describe(JSON.parse(start[1] as string), text.slice(start.index, starts[n + 1]?.index)),
  );
  const tables = files.filter((file) => /\.(csv|tsv|xlsx?)$/i.test(file.name));
  return tables.findLast((file) => asked.includes(file.name)) ?? tables.at(-1);
}

function describe(name: string, about: string): TableFile {
  const [, encoding, python] = ENCODING.exec(about) ?? [];
  const columns = [...about.matchAll(COLUMN)].map((found) => ({
    name: JSON.parse(found[1] as string) as string,
    date: /^(date|日期)/.test(found[2] as string),
  }));
  const date = columns.find((column) => column.date)?.name;
  const value = columns.find((column) => !column.date && SALES.test(column.name))?.name;
  return {
    name,
    ...(encoding ? { encoding: python ?? encoding } : {}),
    ...(date ? { dateColumn: date } : {}),
    ...(value ? { valueColumn: value } : {}),
  };
}
