"""Turns DataFrames and Series into the `table` of a display: strict JSON, bounded, digits kept."""
import datetime
import decimal
import json
import math
import numbers

# Rows and columns sent of a table; the totals are always told.
MAX_ROWS, MAX_COLUMNS = 200, 100
MAX_CELL = 500
# A table travels in one frame of 1 MiB with its text.
MAX_JSON_BYTES = 700_000
# Beyond this an integer changes when JavaScript reads it.
MAX_SAFE_INTEGER = 1 << 53


def is_table(value):
    """A pandas DataFrame or Series, without importing pandas."""
    return any(kind.__module__.startswith('pandas.') and kind.__name__ in ('DataFrame', 'Series') for kind in type(value).__mro__)


def build(value):
    """{ columns, rows, totalRows, totalColumns } of a DataFrame or Series."""
    frame = value if hasattr(value, 'columns') else value.to_frame(name='' if value.name is None else value.name)
    head = frame.iloc[:MAX_ROWS, :MAX_COLUMNS]
    columns = index_columns(frame, head)
    total = frame.shape[1] + len(columns)
    columns += [(label(head.columns[i]), head.iloc[:, i]) for i in range(head.shape[1])]
    described = [{'name': name, 'type': column_type(series)} for name, series in columns]
    cells = [[cell(item, kind['type']) for item in series.tolist()] for (_, series), kind in zip(columns, described)]
    rows = [list(row) for row in zip(*cells)]
    while len(rows) > 1 and len(json.dumps(rows)) > MAX_JSON_BYTES:
        rows = rows[: len(rows) // 2]
    return {'columns': described, 'rows': rows, 'totalRows': int(frame.shape[0]), 'totalColumns': int(total)}


def index_columns(frame, head):
    """The index as columns, unless it only counts rows from 0."""
    index = frame.index
    if type(index).__name__ == 'RangeIndex' and index.start == 0 and index.step == 1 and index.name is None:
        return []
    levels = range(index.nlevels)
    return [('' if index.names[i] is None else label(index.names[i]), head.index.get_level_values(i).to_series()) for i in levels]


def label(name):
    """Text of a column name; the levels of a composite one are joined."""
    if isinstance(name, tuple):
        return ' / '.join(text for part in name if (text := label(part)))
    if isinstance(name, datetime.datetime) and name.time() == datetime.time():
        return name.date().isoformat()
    return str(name)[:MAX_CELL]


def column_type(series):
    """One of integer, number, boolean, date, datetime, string."""
    kind = getattr(series.dtype, 'kind', 'O')
    if kind == 'b':
        return 'boolean'
    if kind in 'iu':
        return 'integer'
    if kind == 'f':
        return 'number'
    if kind == 'M':
        days = series.dropna()
        return 'date' if len(days) and (days == days.dt.normalize()).all() else 'datetime'
    if kind == 'O' and len(series):
        values = [item for item in series.tolist() if not is_missing(item)]
        if values and all(isinstance(item, bool) for item in values):
            return 'boolean'
        if values and all(isinstance(item, numbers.Number) and not isinstance(item, bool) for item in values):
            return 'integer' if all(isinstance(item, numbers.Integral) for item in values) else 'number'
        if values and all(type(item) is datetime.date for item in values):
            return 'date'
    return 'string'


def is_missing(value):
    """None, NaN, NaT, pd.NA."""
    return value is None or type(value).__name__ in ('NAType', 'NaTType') or isinstance(value, float) and math.isnan(value)


def cell(value, kind='string'):
    """One value as null, boolean, string, or a number that JavaScript reads unchanged."""
    if is_missing(value):
        return None
    if isinstance(value, bool) or type(value).__name__ in ('bool_', 'bool'):
        return bool(value)
    if isinstance(value, numbers.Integral):
        number = int(value)
        return number if -MAX_SAFE_INTEGER <= number <= MAX_SAFE_INTEGER else str(number)
    if isinstance(value, (float, numbers.Real)) and not isinstance(value, decimal.Decimal):
        number = float(value)
        # The shortest text of a 32-bit float is what was meant; its 64-bit value is not.
        number = float(str(value)) if type(value).__name__ in ('float32', 'float16') else number
        if math.isinf(number):
            return 'Infinity' if number > 0 else '-Infinity'
        return number if not number.is_integer() or abs(number) <= MAX_SAFE_INTEGER else repr(number)
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if kind == 'date' else str(value)
    try:
        text = value if isinstance(value, str) else str(value)
    except Exception as error:  # noqa: BLE001 - a hostile __str__ must not lose the table
        text = f'<{type(value).__name__}: {type(error).__name__}>'
    text = text.encode('utf-8', 'backslashreplace').decode('utf-8')
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + '…'
