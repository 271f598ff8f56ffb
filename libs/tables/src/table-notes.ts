import { KIND } from './cell-kind.ts';
import type { ColumnProfile } from './column-profile.ts';
import type { Note } from './description.ts';
import { oneLine } from './plain-text.ts';

/** A note is one line, whatever names from the file are in it. */
export const note = (code: string, zh: string, en: string): Note => ({ code, zh: oneLine(zh), en: oneLine(en) });

/** Names in a note: enough to recognise, not a list of thousands. */
const MOST_NAMES = 8;
const LONGEST = 40;

export function listed(names: readonly string[]): { zh: string; en: string } {
  const shown = names.slice(0, MOST_NAMES).map((name) => (name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name));
  const more = names.length - shown.length;
  return {
    zh: shown.map((name) => `「${name}」`).join('') + (more > 0 ? `等 ${names.length} 列` : ''),
    en: shown.map((name) => `"${name}"`).join(', ') + (more > 0 ? ` and ${more} more` : ''),
  };
}

const about = (code: string, names: readonly string[], zh: string, en: string): Note[] => {
  if (names.length === 0) return [];
  const list = listed(names);
  return [note(code, `${list.zh}${zh}`, `${list.en}: ${en}`)];
};

/** What the cells of the columns ask of whoever reads the file. `text` is true where cells are text (CSV), false in a workbook. */
export function columnNotes(names: readonly string[], profiles: readonly ColumnProfile[], text: boolean): Note[] {
  const where = (test: (profile: ColumnProfile) => boolean) =>
    names.filter((_, n) => profiles[n] !== undefined && test(profiles[n]));
  const numeric = (kind: number) => where((profile) => profile.has(kind) && profile.type === 'number');
  const notes = [
    ...about(
      'mixed_values',
      where((p) => p.mostly !== null),
      ' 大多是数字或日期，但夹有少量其他文字',
      'mostly numbers or dates, with a few other texts among them',
    ),
    ...about(
      'missing_marks',
      where((p) => p.has(KIND.missingMark)),
      ' 用“-”“无”等符号或错误值表示缺失',
      'missing values are written as marks such as "-" or as spreadsheet errors',
    ),
  ];
  if (!text) return notes;
  return [
    ...about(
      'ids_as_text',
      where((p) => p.holdsIds),
      ' 是编号：有前导零、超过 15 位或形如 1E10，须按文本读取（dtype=str）',
      'identifiers with leading zeros, more than 15 digits or like 1E10; read as text (dtype=str)',
    ),
    ...about(
      'thousands',
      numeric(KIND.thousands),
      ' 的数字带千位分隔符（thousands=","）',
      'numbers have thousands separators (thousands=",")',
    ),
    ...about(
      'decimal_comma',
      numeric(KIND.decimalComma),
      ' 的数字用逗号作小数点（decimal=","）',
      'numbers have a decimal comma (decimal=",")',
    ),
    ...about(
      'percent',
      numeric(KIND.percent),
      ' 的数值带百分号，需去掉“%”再除以 100',
      'values carry a percent sign; strip it and divide by 100',
    ),
    ...about(
      'currency',
      numeric(KIND.currency),
      ' 的数值带货币符号或单位，需先去掉',
      'values carry a currency sign or unit; strip it first',
    ),
    ...dateNotes(names, profiles),
    ...notes,
  ];
}

function dateNotes(names: readonly string[], profiles: readonly ColumnProfile[]): Note[] {
  const byPattern = new Map<string, string[]>();
  const unclear: string[] = [];
  names.forEach((name, n) => {
    const profile = profiles[n];
    if (!profile) return;
    if (profile.dateOrderUnclear) unclear.push(name);
    else if (profile.datePatterns.length > 0) {
      const pattern = profile.datePatterns.join(' / ');
      byPattern.set(pattern, [...(byPattern.get(pattern) ?? []), name]);
    }
  });
  return [
    ...[...byPattern]
      .slice(0, 4)
      .flatMap(([pattern, columns]) =>
        about('date_format', columns, ` 的日期写作 ${pattern}`, `dates are written ${pattern}`),
      ),
    ...about(
      'date_order_unclear',
      unclear,
      ' 的日期写作 日/月/年 或 月/日/年，顺序无法从格式确定',
      'dates are D/M/Y or M/D/Y; the format does not say which',
    ),
  ];
}

export function nameNotes(names: {
  duplicates: readonly string[];
  unnamed: number;
  padded: readonly string[];
}): Note[] {
  return [
    ...about(
      'duplicate_names',
      names.duplicates,
      ' 列名重复，后面的加了 .1、.2（与 pandas 相同）',
      'the column name is repeated; later ones got .1, .2 (as pandas does)',
    ),
    ...(names.unnamed > 0
      ? [
          note(
            'unnamed_columns',
            `${names.unnamed} 列没有列名，记作 Unnamed: 序号（与 pandas 相同）`,
            `${names.unnamed} columns have no name and are called Unnamed: N (as pandas does)`,
          ),
        ]
      : []),
    ...about(
      'padded_names',
      names.padded,
      ' 列名首尾有空格，代码里须原样写出或先 strip',
      'the column name has blanks at its ends; write it exactly so, or strip the names first',
    ),
  ];
}

export const noHeader = (doubtful: boolean): Note =>
  note(
    doubtful ? 'header_doubt' : 'no_header',
    `第一行看起来是数据而不是列名${doubtful ? '（不能确定）' : ''}，列名 column_1… 是补的（读取时用 header=None）`,
    `the first row looks like data, not names${doubtful ? ' (not certain)' : ''}; the names column_1… were made up (read with header=None)`,
  );
export const headerDoubt = (): Note =>
  note(
    'header_doubt',
    '把第一行当作列名，但不能确定：各列都是文字',
    'the first row is taken for column names, which is not certain: the columns below are alike',
  );
export const titleAbove = (lines: number): Note =>
  note(
    'title_above',
    `列名之前有 ${lines} 行标题或说明（读取时用 header=${lines}）`,
    `${lines} lines of title or remarks stand above the column names (read with header=${lines})`,
  );
export const headerOnly = (): Note => note('header_only', '只有列名，没有数据行', 'there are column names but no rows');
export const sepLine = (): Note =>
  note(
    'sep_line',
    '第一行是 Excel 的 sep= 声明，不是数据（读取时用 skiprows=1）',
    'the first line is the sep= line of Excel, not data (read with skiprows=1)',
  );
export const delimiterDoubt = (): Note =>
  note(
    'delimiter_doubt',
    '分隔符不能确定：各行的列数不一致',
    'the delimiter is not certain: lines differ in their number of fields',
  );
export const trailingDelimiter = (): Note =>
  note(
    'trailing_delimiter',
    '每行末尾有一个多余分隔符；pandas 会因此错位，读取时用 index_col=False，若多出空的 Unnamed 列就删去',
    'each row ends in an extra delimiter, which shifts columns in pandas: read with index_col=False and drop an empty Unnamed column if there is one',
  );
export const extraFields = (extra: number): Note =>
  note(
    'extra_fields',
    `数据行比列名多 ${extra} 个字段，多出的列没有名字；pandas 会把前面的列当作索引而错位，读取时用 header=0 并以 names=[…] 给出全部列名`,
    `rows have ${extra} more fields than there are names; pandas then takes the first columns as an index: read with header=0 and names=[…] for all of them`,
  );
export const irregularRows = (count: number, least: number, most: number, width: number): Note =>
  note(
    'irregular_rows',
    `不规则：有 ${count} 行的字段数不是 ${width}（最少 ${least}，最多 ${most}）；读取时可用 on_bad_lines="warn", engine="python"`,
    `irregular: ${count} rows do not have ${width} fields (from ${least} to ${most}); read with on_bad_lines="warn", engine="python"`,
  );
export const unclosedQuote = (record: number): Note =>
  note(
    'unclosed_quote',
    `第 ${record} 条记录里有没有配对的引号；已按“引号是普通字符”重新统计，行数可能不准（读取时可用 quoting=3）`,
    `record ${record} has a quote that is never closed; rows were counted with quotes as plain characters and may be off (read with quoting=3)`,
  );
export const cutInQuote = (rows: number): Note =>
  note(
    'cut_in_quote',
    `文件在一个带引号的单元格中间结束，最后一条记录不完整，没有计入（完整的有 ${rows} 行）；可能没有完整导出`,
    `the file ends inside of a quoted cell; its last record is not whole and not counted (${rows} rows are); its export may not have finished`,
  );
export const lineTooLong = (): Note =>
  note('line_too_long', '有一行超过 2 MiB，没有再往下统计', 'a line is longer than 2 MiB; counting stopped there');
export const emptyRows = (count: number): Note =>
  note('empty_rows', `其中 ${count} 行没有任何值`, `${count} of the rows have no value at all`);
export const moreColumns = (shown: number, all: number): Note =>
  note('more_columns', `共 ${all} 列，只列出前 ${shown} 列`, `${all} columns in all; the first ${shown} are listed`);
