"""What a zygote loads before it forks: imports, and one use of everything that would set itself up on first use."""
import importlib
import io
import os
import sys
import warnings

SHIMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'shims')
FULL = 'numpy pandas matplotlib matplotlib.pyplot scipy openpyxl'.split()


def load(wanted):
    """Imports the modules that there are and warms them. `wanted` false starts at once, for probes and pure-Python work."""
    # Parts of the standard library that the program needs after the walls are closed.
    for name in 'asyncio bisect ctypes difflib linecache random tempfile textwrap traceback tokenize uuid zipfile csv datetime decimal'.split():
        importlib.import_module(name)
    # Stand-ins come last on the path: a package that is installed wins.
    sys.path.append(SHIMS)
    from . import hooks, program  # noqa: F401 - forked slots run them

    hooks.install()
    if not wanted:
        return
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        for name in FULL:
            try:
                importlib.import_module(name)
            except ImportError:
                # The fallback environment may lack one; user code then gets the explanation of a missing module.
                continue
        warm()


def warm():
    """The main scene in small: read, convert, group, print, draw, save."""
    import matplotlib.pyplot as plt
    import pandas as pd

    from . import display, figures, fonts, tables

    fonts.set_up()
    figures.set_up()
    frame = pd.read_csv(io.StringIO('日期,名称,值\n2026-01-01,甲,1.5\n2026-02-01,乙,-2\n'))
    frame['日期'] = pd.to_datetime(frame['日期'])
    repr(frame), frame.describe(), repr(frame.dtypes), tables.build(frame), display.plain_text(frame)
    frame.groupby('名称')['值'].sum().sort_values()
    frame.set_index('日期')['值'].resample('MS').sum()
    frame.pivot_table(index='日期', columns='名称', values='值')
    frame.merge(frame, on='名称')
    frame.to_csv(io.StringIO())
    axes = frame.set_index('日期').plot(title='销售额 −1', grid=True)
    axes.legend()
    axes.figure.tight_layout()
    axes.figure.savefig(io.BytesIO(), format='png', dpi=50)
    figure, axes = plt.subplots()
    axes.bar(['甲', '乙'], [1, 2])
    axes.set_title('标题')
    figure.savefig(io.BytesIO(), format='png', dpi=50)
    plt.close('all')
