import { type TableFile, tableFile } from './described-file.ts';
import { type ChatRequest, lastUserText, type Reply, type Script, textOf } from './script.ts';

type Locale = 'zh' | 'en';

// About the pace of a hosted model, slow enough to be seen streaming.
const WORDS = { piece: 2, delayMs: 12 };
const CODE = { piece: 24, delayMs: 6 };

/**
 * The product's main scene, played and not thought: some words, a real program for the uploaded file, an answer with the figures that the
 * program printed. Whatever else is asked, it says what it is.
 */
export const mainScene: Script = [
  { tool: true, reply: answerWithFigures },
  { tool: false, reply: analyse },
];

function analyse(request: ChatRequest): Reply {
  const locale = localeOf(request);
  const file = tableFile(request);
  if (!file || !offersRunPython(request)) return sayWhatThisIs(locale);
  const intro = {
    zh: '好的，我先读取数据，按日期汇总最近三个月的销售额，再画出折线图。\n\n',
    en: 'I will read the data, add up the last three months by date, and draw a line chart.\n\n',
  };
  return {
    steps: [
      { text: intro[locale], ...WORDS },
      { call: { name: 'run_python', arguments: { code: program(file, locale) } }, ...CODE },
    ],
  };
}

function program(file: TableFile, locale: Locale): string {
  const name = JSON.stringify(file.name);
  const read = /\.xlsx?$/i.test(file.name)
    ? `pd.read_excel(${name})`
    : `pd.read_csv(${name}, sep=${/\.tsv$/i.test(file.name) ? '"\\t"' : 'None, engine="python"'}, encoding=${JSON.stringify(file.encoding ?? 'utf-8-sig')})`;
  const words =
    locale === 'zh'
      ? { title: '最近三个月销售趋势', x: '日期', total: '合计' }
      : { title: 'Sales trend of the last three months', x: 'Date', total: 'total' };
  return `import pandas as pd
import matplotlib.pyplot as plt

df = ${read}
date_column = ${file.dateColumn ? JSON.stringify(file.dateColumn) : FIND_DATE}
value_column = ${file.valueColumn ? JSON.stringify(file.valueColumn) : FIND_VALUE}

df["_date"] = pd.to_datetime(df[date_column], errors="coerce")
df["_value"] = pd.to_numeric(df[value_column].astype(str).str.replace(r"[^0-9.\\-]", "", regex=True), errors="coerce")
df = df.dropna(subset=["_date", "_value"])

months = df["_date"].dt.to_period("M")
recent = df[months > months.max() - 3]
daily = recent.groupby(recent["_date"].dt.normalize())["_value"].sum()
monthly = recent.groupby(recent["_date"].dt.to_period("M"))["_value"].sum()
for month, total in monthly.items():
    print(f"{month}  {total:.2f}")
print(f"${words.total}  {monthly.sum():.2f}")

plt.figure(figsize=(9, 4.5))
plt.plot(daily.index, daily.values, marker="o", markersize=3)
plt.title(${JSON.stringify(words.title)})
plt.xlabel(${JSON.stringify(words.x)})
plt.ylabel(str(value_column))
plt.grid(alpha=0.3)
plt.gcf().autofmt_xdate()
plt.tight_layout()
plt.savefig("sales_trend.png", dpi=150)
`;
}

const FIND_DATE =
  'max(df.columns, key=lambda c: 0 if pd.api.types.is_numeric_dtype(df[c]) else pd.to_datetime(df[c], errors="coerce").notna().mean())';
const FIND_VALUE = `next((c for c in df.columns if any(w in str(c).lower() for w in ("销售额", "金额", "sales", "revenue", "amount"))), df.select_dtypes("number").columns[0])`;

function answerWithFigures(request: ChatRequest): Reply {
  const locale = localeOf(request);
  const result = textOf(request.messages.at(-1));
  const months = [...result.matchAll(/(\d{4}-\d{2}) {2}(-?\d+\.\d{2})/g)].map((found) => ({
    month: found[1] as string,
    total: Number(found[2]),
  }));
  if (months.length === 0) return { steps: [{ text: withoutFigures(result, locale), ...WORDS }] };
  return { steps: [{ text: summary(months, locale), ...WORDS }] };
}

function summary(months: readonly { month: string; total: number }[], locale: Locale): string {
  const amount = (value: number) =>
    value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  const rows = months.map(({ month, total }) => `| ${month} | ${amount(total)} |`).join('\n');
  const all = months.reduce((sum, { total }) => sum + total, 0);
  const first = months[0]?.total ?? 0;
  const last = months.at(-1)?.total ?? 0;
  const change = first === 0 ? 0 : ((last - first) / first) * 100;
  const percent = `${Math.abs(change).toFixed(1)}%`;
  if (locale === 'zh') {
    const trend = change > 0 ? `上升了 ${percent}` : change < 0 ? `下降了 ${percent}` : '持平';
    return `最近三个月的销售趋势如上图。按月汇总：\n\n| 月份 | 销售额 |\n|---|---:|\n${rows}\n\n三个月合计 **${amount(all)}**，最后一个月比第一个月${trend}。\n`;
  }
  const trend = change > 0 ? `up ${percent} on` : change < 0 ? `down ${percent} on` : 'level with';
  return `The chart above shows the last three months. By month:\n\n| Month | Sales |\n|---|---:|\n${rows}\n\nThe three months add up to **${amount(all)}**; the last month is ${trend} the first.\n`;
}

function withoutFigures(result: string, locale: Locale): string {
  const seen = result.trim().slice(0, 600);
  return locale === 'zh'
    ? `程序没有给出按月的数字，所以我不能下结论。它的结果是：\n\n\`\`\`\n${seen}\n\`\`\`\n`
    : `The program printed no monthly figures, so I can draw no conclusion. It answered:\n\n\`\`\`\n${seen}\n\`\`\`\n`;
}

function sayWhatThisIs(locale: Locale): Reply {
  const text = {
    zh: '我是演示模型，回答是预先写好的，不会真正思考。请上传一个带日期和金额的 CSV 或 Excel 文件，再问我「分析最近三个月的销售趋势，画一张折线图」。要得到真正的回答，请在设置里配置一个模型。\n',
    en: 'I am a demo model: my answers are scripted and nothing is thought. Upload a CSV or Excel file with dates and amounts and ask me to analyse the last three months. For real answers, configure a model in the settings.\n',
  };
  return { steps: [{ text: text[locale], ...WORDS }] };
}

function offersRunPython(request: ChatRequest): boolean {
  return (request.tools ?? []).some((tool) => tool.function.name === 'run_python');
}

function localeOf(request: ChatRequest): Locale {
  return /[\u4e00-\u9fff]/.test(lastUserText(request)) ? 'zh' : 'en';
}
