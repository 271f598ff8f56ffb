"""What a program says that it shows, held to what runners were promised. Hostile input: a field that is not as agreed is left out.

Without this a program that speaks on the channel by itself could make its runner give up, which counts as a fault of the platform.
"""
import re

from . import job as jobs

MEDIA_TYPE = re.compile(r'[a-z0-9][a-z0-9.+-]{0,62}/[a-z0-9][a-z0-9.+-]{0,62}', re.ASCII)
# Pixels of one side; more than any picture that is drawn.
MAX_SIDE = 1 << 20
# Above what `tables` sends: 200 rows, 100 columns and the levels of the index.
MAX_ROWS, MAX_COLUMNS = 1_000, 1_000
# Beyond this an integer changes when JavaScript reads it.
MAX_SAFE_INTEGER = 1 << 53


def clean_display(value):
    """{ mimeType, name?, text?, width?, height?, table? } of a display, or None for what is none."""
    if not isinstance(value, dict):
        return None
    clean = {field: value[field] for field, good in FIELDS.items() if field in value and good(value[field])}
    return clean if 'mimeType' in clean else None


def is_media_type(value):
    return isinstance(value, str) and MEDIA_TYPE.fullmatch(value) is not None


def is_name(value):
    """A name that the file of a display may have; the same rules as for files of a run."""
    return isinstance(value, str) and jobs.name_fault(value) is None


def is_text(value):
    return isinstance(value, str)


def is_side(value):
    return type(value) is int and 0 < value <= MAX_SIDE


def is_count(value):
    return type(value) is int and 0 <= value <= MAX_SAFE_INTEGER


def is_table(value):
    """{ columns: [{ name, type }], rows: [[cell]], totalRows, totalColumns } and nothing else."""
    if not isinstance(value, dict) or set(value) != {'columns', 'rows', 'totalRows', 'totalColumns'}:
        return False
    columns, rows = value['columns'], value['rows']
    return (
        isinstance(columns, list)
        and isinstance(rows, list)
        and len(columns) <= MAX_COLUMNS
        and len(rows) <= MAX_ROWS
        and all(isinstance(column, dict) and set(column) == {'name', 'type'} and all(map(is_text, column.values())) for column in columns)
        and all(isinstance(row, list) and len(row) == len(columns) and all(map(is_cell, row)) for row in rows)
        and is_count(value['totalRows'])
        and is_count(value['totalColumns'])
    )


def is_cell(value):
    if value is None or isinstance(value, (bool, str)):
        return True
    # Infinities and NaN fail the comparison.
    return type(value) in (int, float) and (-MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER or type(value) is float and abs(value) < float('inf'))


FIELDS = {'mimeType': is_media_type, 'name': is_name, 'text': is_text, 'width': is_side, 'height': is_side, 'table': is_table}
