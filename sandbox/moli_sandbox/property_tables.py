"""matplotlib's tables of properties, which it writes into the docstrings of its classes while it is imported.

It finds them by reading the docstring of every setter of every class: a tenth of the time that the zygote needs. `install.py` has them written once
into the environment, each under the name of its class, and they are given here in place of the search. The docstrings come out the same
(tests/test_property_tables.py). Whatever is not in the file is searched for as ever.
"""
import contextlib
import json
import os
import sys

FILE = os.path.join(sys.prefix, 'property-tables.json')


@contextlib.contextmanager
def remembered():
    """While the block imports matplotlib, its tables come from the file."""
    tables = read()
    if not tables:
        yield
        return
    from matplotlib import artist

    search = artist.kwdoc

    def kwdoc(of):
        return isinstance(of, type) and tables.get(f'{of.__module__}.{of.__qualname__}') or search(of)

    artist.kwdoc = kwdoc
    try:
        yield
    finally:
        artist.kwdoc = search


def read():
    """{ class: table } for the matplotlib that is here, or nothing."""
    try:
        with open(FILE, encoding='utf-8') as file:
            made = json.load(file)
        import matplotlib
    except (OSError, ValueError, ImportError):
        return {}
    return made['tables'] if made['matplotlib'] == matplotlib.__version__ else {}
