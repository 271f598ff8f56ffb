import type { Note } from './description.ts';
import { columnLetters } from './sheet-scanner.ts';
import { listed, note } from './table-notes.ts';

/** A note with the name of its sheet in front, where there are several. */
export function onSheet(sheet: string | null, each: Note): Note {
  return sheet === null ? each : note(each.code, `工作表「${sheet}」：${each.zh}`, `sheet "${sheet}": ${each.en}`);
}

export const date1904 = (): Note =>
  note(
    'date_1904',
    '使用 1904 日期系统（pandas 会自动换算）',
    'uses the 1904 date system (pandas converts it by itself)',
  );
export const moreSheets = (shown: number, all: number): Note =>
  note(
    'more_sheets',
    `共 ${all} 个工作表，只查看了前 ${shown} 个`,
    `${all} sheets in all; the first ${shown} were looked into`,
  );
export const emptySheet = (name: string): Note =>
  note('empty_sheet', `工作表「${name}」是空的`, `sheet "${name}" is empty`);
export const chartSheet = (name: string): Note =>
  note('chart_sheet', `工作表「${name}」只有图表，没有数据`, `sheet "${name}" is only a chart, without data`);
export const hiddenSheet = (name: string): Note =>
  note('hidden_sheet', `工作表「${name}」是隐藏的`, `sheet "${name}" is hidden`);
export const notRead = (name: string): Note =>
  note(
    'sheet_not_read',
    `工作簿很大，工作表「${name}」没有查看`,
    `the workbook is large; sheet "${name}" was not looked into`,
  );
export const partlyRead = (name: string, claimed: boolean): Note =>
  note(
    'sheet_partly_read',
    `工作簿很大，工作表「${name}」只查看了前面部分${claimed ? '，行数是文件自己声明的' : '，实际行数更多'}`,
    `the workbook is large; only the first part of sheet "${name}" was looked at${claimed ? ', the number of rows is what the file says of itself' : ' and it has more rows'}`,
  );
export const startsAt = (sheet: string | null, column: number): Note =>
  onSheet(
    sheet,
    note(
      'starts_at_column',
      `表格从 ${columnLetters(column)} 列开始，左边各列是空的`,
      `the table starts in column ${columnLetters(column)}; the columns before it are empty`,
    ),
  );
export const headerAt = (sheet: string | null, rows: { first: number; last: number }): Note => {
  const single = rows.first === rows.last;
  const option = single
    ? `${rows.first - 1}`
    : `[${Array.from({ length: rows.last - rows.first + 1 }, (_, n) => rows.first - 1 + n).join(', ')}]`;
  return onSheet(
    sheet,
    note(
      single ? 'title_above' : 'header_lines',
      single
        ? `列名在第 ${rows.first} 行，上面是标题或空行（header=${option}）`
        : `列名占第 ${rows.first}–${rows.last} 行，是合并单元格的多行表头，这里用“/”连接（header=${option}）`,
      single
        ? `column names are in row ${rows.first}, below a title or blank rows (header=${option})`
        : `the header is in rows ${rows.first}–${rows.last} with merged cells; its lines are joined by "/" here (header=${option})`,
    ),
  );
};
export const blocks = (sheet: string | null, ranges: readonly (readonly [number, number])[]): Note => {
  const list = ranges
    .slice(0, 6)
    .map(([from, to]) => `${columnLetters(from)}:${columnLetters(to)}`)
    .join(', ');
  return onSheet(
    sheet,
    note(
      'blocks_side_by_side',
      `有 ${ranges.length} 个并排的表，中间隔着空列：${list}（可用 usecols 分别读取）`,
      `${ranges.length} blocks stand side by side with empty columns between: ${list} (read each with usecols)`,
    ),
  );
};
export const formulasWithoutValues = (sheet: string | null, columns: readonly string[]): Note => {
  const list = listed(columns);
  return onSheet(
    sheet,
    note(
      'formulas_without_values',
      `${list.zh} 是公式，但文件里没有保存计算结果，读取会得到空值；请在 Excel/WPS 中打开并保存一次再上传，或在代码里重新计算`,
      `${list.en}: formulas without values, since the file was saved without results; they read as empty. Open and save it in Excel once, or compute them in code`,
    ),
  );
};
/** A note on columns of a sheet, or none where there are no columns. */
const aboutColumns = (
  code: string,
  sheet: string | null,
  columns: readonly string[],
  zh: string,
  en: string,
): Note[] => {
  const list = listed(columns);
  return columns.length === 0 ? [] : [onSheet(sheet, note(code, `${list.zh} ${zh}`, `${list.en}: ${en}`))];
};
export const roundedNumbers = (sheet: string | null, columns: readonly string[]): Note[] =>
  aboutColumns(
    'rounded_numbers',
    sheet,
    columns,
    '含有超过 15 位的数字，Excel 保存时末尾几位已变成 0；编号须在 Excel 中按文本保存后重新上传',
    'numbers of more than 15 digits, whose last digits Excel turned into 0 when it saved them; ids have to be kept as text in Excel and uploaded again',
  );
export const numbersAsText = (sheet: string | null, columns: readonly string[]): Note[] =>
  aboutColumns(
    'numbers_as_text',
    sheet,
    columns,
    '看起来是数字，但单元格是文本（计算前用 pd.to_numeric 转换）',
    'look like numbers but the cells are text (convert with pd.to_numeric before computing)',
  );
export const datesAsText = (sheet: string | null, columns: readonly string[]): Note[] =>
  aboutColumns(
    'dates_as_text',
    sheet,
    columns,
    '看起来是日期，但单元格是文本（用 pd.to_datetime 转换）',
    'look like dates but the cells are text (convert with pd.to_datetime)',
  );
export const mergedCells = (sheet: string | null, count: number): Note =>
  onSheet(
    sheet,
    note(
      'merged_cells',
      `数据里有 ${count} 处纵向合并的单元格，只有第一格有值（可用 ffill 补全）`,
      `${count} merged cells in the data span rows; only the first row of each has the value (fill with ffill)`,
    ),
  );
