import { type ChatRequest, textOf } from './script.ts';

const SALES = /销售额|金额|营业额|收入|sales|revenue|amount|total/i;

/** The table file named last in the request, with the encoding that its description states. */
export function tableFile(request: ChatRequest): { name: string; encoding?: string } | undefined {
  const text = requestText(request);
  // Names in quotes may hold blanks; bare ones end at a blank or at punctuation.
  const names = [
    ...text.matchAll(
      /["'`「“]([^"'`「」“”\n]+\.(?:csv|tsv|xlsx?))["'`」”]|([^\s"'`「」“”（）():：,，]+\.(?:csv|tsv|xlsx?))\b/gi,
    ),
  ];
  const name = names.map((found) => found[1] ?? found[2]).at(-1);
  if (!name) return undefined;
  const encoding = /(?:encoding|编码)\W{0,4}([a-z][a-z0-9_-]+)/i.exec(about(text, name))?.[1];
  return encoding ? { name, encoding } : { name };
}

/** The columns of dates and of amounts, as far as the description of the file names them. */
export function describedColumns(request: ChatRequest, file: string): { date?: string; value?: string } {
  const columns = [
    ...about(requestText(request), file).matchAll(
      /["`「]?([^\s"`「」,，;；:：|()（）]+)["`」]?\s*[:：(（]\s*(date(?:time)?|integer|number|日期(?:时间)?|整数|数字|小数)/g,
    ),
  ];
  const typed = columns.map((found) => ({ name: found[1] as string, date: /^date|^日期/.test(found[2] as string) }));
  const date = typed.find((column) => column.date)?.name;
  const numbers = typed.filter((column) => !column.date).map((column) => column.name);
  const value = numbers.find((name) => SALES.test(name));
  return { ...(date ? { date } : {}), ...(value ? { value } : {}) };
}

function requestText(request: ChatRequest): string {
  return request.messages
    .filter((message) => message.role === 'system' || message.role === 'user')
    .map(textOf)
    .join('\n');
}

/** The description follows the name; 2,000 characters hold that of an ordinary table. */
function about(text: string, name: string): string {
  const at = text.indexOf(name);
  return text.slice(at, at + 2_000);
}
