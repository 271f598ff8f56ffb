"""Tables and arrays: columns, keys, dates, shapes, calls that newer versions of pandas and numpy no longer have."""
import re

# Calls that pandas 2, numpy 2 and matplotlib 3.11 took away: what to write instead.
REMOVED = {
    'append': 'pd.concat([df, other], ignore_index=True)', 'iteritems': '.items()', 'lookup': 'df.loc / numpy indexing', 'ix': '.loc / .iloc',
    'as_matrix': '.to_numpy()', 'get_value': '.at[row, column]', 'set_value': '.at[row, column] = value', 'sort': '.sort_values(…)',
    'week': '.dt.isocalendar().week', 'weekofyear': '.dt.isocalendar().week', 'mad': '(x - x.mean()).abs().mean()', 'slice_shift': '.shift(…)',
    'tshift': '.shift(freq=…)', 'to_panel': 'a MultiIndex', 'is_copy': '.copy()', 'applymap': '.map(…)', 'swaplevels': '.swaplevel(…)', 'weekday_name': '.dt.day_name()',
}
REMOVED_MODULE = {
    ('numpy', 'float'): 'float', ('numpy', 'int'): 'int', ('numpy', 'bool'): 'bool', ('numpy', 'object'): 'object', ('numpy', 'str'): 'str', ('numpy', 'NaN'): 'np.nan',
    ('numpy', 'Inf'): 'np.inf', ('numpy', 'float_'): 'np.float64', ('numpy', 'product'): 'np.prod', ('numpy', 'cumproduct'): 'np.cumprod', ('numpy', 'complex'): 'complex',
    ('numpy', 'alltrue'): 'np.all', ('numpy', 'sometrue'): 'np.any', ('numpy', 'unicode_'): 'np.str_', ('numpy', 'asscalar'): '.item()', ('numpy', 'row_stack'): 'np.vstack',
    ('pandas', 'Panel'): 'a MultiIndex', ('pandas', 'datetime'): 'datetime.datetime', ('pandas', 'np'): 'import numpy as np', ('pandas', 'TimeGrouper'): 'pd.Grouper',
    ('pandas', 'Int64Index'): 'pd.Index', ('matplotlib.cm', 'get_cmap'): "matplotlib.colormaps['name']", ('matplotlib', 'get_cmap'): "matplotlib.colormaps['name']",
}


def _explain():
    from . import explain

    return explain


def column_missing(place):
    """KeyError on a table: the nearest names, and all there are."""
    error, text = place.error, place.text
    if isinstance(error, KeyError):
        wanted = error.args[0] if error.args else ''
        listed = re.search(r"\[(.+?)\] not (?:in index|found in axis)|Index\(\[(.+?)\]", text)
        names = re.findall(r"'([^']*)'", (listed[1] or listed[2])) if listed else [wanted]
    elif isinstance(error, ValueError) and (match := re.search(r"Usecols do not match columns, columns expected but not found: \[(.+?)\]|Missing column provided to 'parse_dates': '(.+?)'", text)):
        names = re.findall(r"'([^']*)'", match[1]) if match[1] else [match[2]]
    elif isinstance(error, ValueError) and (match := re.search(r"Could not interpret value `(.+?)` for", text)):
        names = [match[1]]
    else:
        return None
    if not place.called('pandas/', 'seaborn/', 'plotly/'):
        return None
    explain = _explain()
    for table in place.frames_of_data():
        columns = list(table.columns)
        missing = [name for name in names if name not in columns]
        if not missing or not columns:
            continue
        wanted = missing[0]
        close = explain.nearest(wanted, columns)
        near = (f'是不是想写 {explain.listing(map(repr, close))}？', f' Did you mean {explain.listing(map(repr, close))}?') if close else ('', '')
        return (
            f'表格里没有列 {wanted!r}。{near[0]}现有的列：{explain.listing(columns)}。',
            f'the table has no column {wanted!r}.{near[1]} Its columns: {explain.listing(columns)}.',
        )
    return (
        f'找不到列或索引 {names[0]!r}。可以用 print(df.columns.tolist()) 查看现有的列名（注意空格和全角字符）。',
        f'there is no column or index {names[0]!r}. Print df.columns.tolist() to see the names (mind blanks and full-width characters).',
    )


def removed_call(place):
    match = re.search(r"'(\w+)' object has no attribute '(\w+)'", place.text)
    if isinstance(place.error, AttributeError) and match and match[1] in ('DataFrame', 'Series', 'DatetimeProperties', 'DataFrameGroupBy', 'SeriesGroupBy', 'DatetimeIndex') and match[2] in REMOVED:
        return (
            f'新版 pandas 已经去掉了 {match[1]}.{match[2]}。请改用：{REMOVED[match[2]]}。',
            f'pandas no longer has {match[1]}.{match[2]}. Write instead: {REMOVED[match[2]]}.',
        )
    match = re.search(r"module '([\w.]+)' has no attribute '(\w+)'|`np\.(\w+)` was removed", place.text)
    if isinstance(place.error, AttributeError) and match:
        module, name = (match[1], match[2]) if match[1] else ('numpy', match[3])
        instead = REMOVED_MODULE.get((module, name))
        if instead:
            return (f'新版 {module} 已经没有 {name}。请改用：{instead}。', f'{module} no longer has {name}. Write instead: {instead}.')
    if isinstance(place.error, (OSError, ValueError)) and (match := re.search(r"'(seaborn[\w-]*)' is not a valid package style|'(seaborn[\w-]*)'.*style", place.text)):
        name = match[1] or match[2]
        return (f"样式名已改为 'seaborn-v0_8{name.removeprefix('seaborn')}'，或者用 sns.set_theme()。", f"the style is now called 'seaborn-v0_8{name.removeprefix('seaborn')}'; or call sns.set_theme().")
    match = re.search(r"got an unexpected keyword argument '(\w+)'", place.text)
    if isinstance(place.error, TypeError) and match:
        renamed = {'error_bad_lines': "on_bad_lines='skip'", 'warn_bad_lines': "on_bad_lines='warn'", 'line_terminator': 'lineterminator', 'squeeze': ".squeeze('columns')", 'normed': 'density', 'labels': 'tick_labels', 'distplot': 'histplot', 'ci': 'errorbar'}
        if match[1] in renamed:
            return (f'参数 {match[1]} 已经改名或取消。请改用：{renamed[match[1]]}。', f'the parameter {match[1]} was renamed or removed. Write instead: {renamed[match[1]]}.')
    return None


def dates(place):
    text = place.text
    if isinstance(place.error, ValueError) and (match := re.search(r'time data "?\'?(.+?)"?\'? (?:doesn\'t|does not) match format "?\'?(.+?)"?\'?(?:,|$)', text)):
        return (
            f'日期 {match[1]!r} 与格式 {match[2]!r} 不一致。如果格式不统一，可以用 pd.to_datetime(列, format=\'mixed\')，或 errors=\'coerce\' 把不能识别的变成空值。',
            f"the date {match[1]!r} does not have the format {match[2]!r}. For mixed formats use pd.to_datetime(column, format='mixed'), or errors='coerce' to make unreadable ones empty.",
        )
    if type(place.error).__name__ in ('OutOfBoundsDatetime', 'DateParseError') or isinstance(place.error, ValueError) and re.search('Unknown (date|datetime) string|unconverted data remains|day is out of range|month must be in', text):
        return (
            f'有的值不能识别为日期：{text[:150]}。可以用 pd.to_datetime(列, errors=\'coerce\') 把它们变成空值，再检查。',
            f"some values cannot be read as dates: {text[:150]}. Use pd.to_datetime(column, errors='coerce') to make them empty, then look at them.",
        )
    if isinstance(place.error, AttributeError) and 'Can only use .dt accessor with datetimelike values' in text:
        return ('.dt 只能用于日期列。请先转换：df[列] = pd.to_datetime(df[列])。', '.dt works on date columns only. Convert first: df[column] = pd.to_datetime(df[column]).')
    if isinstance(place.error, ValueError) and (match := re.search(r'Invalid frequency: (\w+)', text)):
        return (f"没有频率 {match[1]}。常用的有 'D' 日、'W' 周、'ME' 月末、'MS' 月初、'QE' 季末、'YE' 年末、'h' 时。", f"there is no frequency {match[1]}. Usual ones: 'D', 'W', 'ME', 'MS', 'QE', 'YE', 'h'.")
    return None


def text_accessor(place):
    if isinstance(place.error, AttributeError) and 'Can only use .str accessor with string values' in place.text:
        return ('.str 只能用于文本列。请先转换：df[列].astype(str)。', '.str works on text columns only. Convert first: df[column].astype(str).')
    return None


def merge(place):
    if type(place.error).__name__ == 'MergeError' or isinstance(place.error, ValueError) and 'You are trying to merge on' in place.text:
        tables = list(place.frames_of_data())[:2]
        explain = _explain()
        seen = '；'.join(explain.listing(table.columns) for table in tables)
        return (
            f'两张表不能这样合并：{place.text[:200]}。请确认两边都有用来合并的列，而且类型相同（必要时 astype(str)）。' + (f'现有的列：{seen}。' if seen else ''),
            f'the two tables cannot be merged like this: {place.text[:200]}. Both sides need the key column, of the same type (astype(str) if need be).' + (f' Columns: {seen}.' if seen else ''),
        )
    return None


def not_numeric(place):
    text = place.text
    patterns = r"could not convert string to float: '?(.*?)'?$|Could not convert (.+?) to numeric|agg function failed|invalid literal for int\(\) with base 10: '(.*?)'|unsupported operand.*'str'|Unable to parse string \"(.+?)\"|no numeric data to plot|cannot convert float NaN to integer|non-finite values .* to integer|can only concatenate str"
    match = re.search(patterns, text)
    if not match or not isinstance(place.error, (ValueError, TypeError)):
        return None
    if 'concatenate' in text and not place.called('pandas/', 'numpy/'):
        return None
    if 'to integer' in text:
        return ('有空值，不能转成整数。请先 fillna(0) 或 dropna()，或用可空整数类型 Int64。', "there are empty values, which cannot become integers. fillna(0) or dropna() first, or use the nullable type 'Int64'.")
    value = next((group for group in match.groups() if group), '')[:60]
    if not value and 'operand' in text:
        return None
    return (
        f'有的值不是数字{f"（{value!r}）" if value else ""}，不能计算。可以先 pd.to_numeric(df[列].astype(str).str.replace(\',\', \'\'), errors=\'coerce\')；求均值、相关系数时加 numeric_only=True。',
        f"some values are not numbers{f' ({value!r})' if value else ''}, so they cannot be computed with. First pd.to_numeric(df[column].astype(str).str.replace(',', ''), errors='coerce'); for means and correlations add numeric_only=True.",
    )


def shapes(place):
    text = place.text
    if not isinstance(place.error, (ValueError, IndexError)):
        return None
    if re.search(r'Length of values .* does not match length of index|All arrays must be of the same length|x and y must (?:be the same size|have same first dimension)|operands could not be broadcast|shapes? .* not aligned|Length mismatch|shape mismatch|inconsistent numbers of samples', text):
        return (f'长度或形状不一致：{text[:200]}。请检查两边的行数，例如 print(len(a), len(b))。', f'lengths or shapes differ: {text[:200]}. Compare the row counts, for example print(len(a), len(b)).')
    if 'truth value of a' in text:
        return ('不能直接把一整列当作真假判断。条件组合请用 & 和 |，并给每个条件加括号；判断整体请用 .any() 或 .all()。', 'a whole column has no single truth value. Combine conditions with & and |, each in brackets; for the whole use .any() or .all().')
    if 'cannot reindex on an axis with duplicate labels' in text or 'Index contains duplicate entries' in text:
        return ('索引里有重复的值。请先去重（drop_duplicates），或用 pivot_table(aggfunc=\'sum\') 汇总。', "the index has duplicates. Drop them (drop_duplicates), or aggregate with pivot_table(aggfunc='sum').")
    if 'Input contains NaN' in text or 'Input X contains NaN' in text:
        return ('数据里有空值，模型不能处理。请先 dropna() 或 fillna(…)。', 'the data has empty values, which the model does not take. dropna() or fillna(…) first.')
    return None


def empty_data(place):
    text = place.text
    if re.search(r'single positional indexer is out-of-bounds|zero-size array|attempt to get arg(max|min) of an empty sequence|No objects to concatenate|index 0 is out of bounds for axis 0 with size 0|(max|min)\(\) arg is an empty sequence|Found array with 0 sample|mean requires at least one data point', text):
        return (
            '这里没有数据：筛选或读取之后是空的。请检查筛选条件，例如先 print(len(df))。',
            'there is no data here: after reading or filtering nothing is left. Check the conditions, for example print(len(df)) first.',
        )
    return None


RULES = (removed_call, column_missing, dates, text_accessor, merge, empty_data, not_numeric, shapes)
