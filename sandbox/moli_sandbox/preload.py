"""What a zygote loads before it forks: imports, and one use of everything that would set itself up on first use."""
import importlib
import io
import os
import ssl
import sys
import warnings

SHIMS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'shims')
# What nearly every program wants. A Pod loads no more: it pays for all of it with each run, and one program in many for the rest.
CORE = 'numpy pandas matplotlib matplotlib.pyplot scipy openpyxl'.split()
# Loaded by the second zygote, which takes over when it is ready: the first one need not wait for them.
MORE = 'xlsxwriter xlrd seaborn sklearn.linear_model plotly.express docx'.split()


def load(level):
    """Imports the modules that there are and warms them. `level`: none (starts at once), core, or full."""
    # Parts of the standard library that the program needs after the walls are closed.
    for name in 'asyncio bisect ctypes difflib linecache random tempfile textwrap traceback tokenize uuid zipfile csv datetime decimal'.split():
        importlib.import_module(name)
    # OpenSSL sets itself up at its first draw, which takes 1 ms; each run gives it a seed of its own (execution.prepare_process).
    ssl.RAND_bytes(1)
    # Stand-ins come last on the path: a package that is installed wins.
    sys.path.append(SHIMS)
    from . import hooks, program, property_tables  # noqa: F401 - forked slots run them

    hooks.install()
    if level == 'none':
        return
    with warnings.catch_warnings(), property_tables.remembered():
        warnings.simplefilter('ignore')
        for name in CORE + (MORE if level == 'full' else []):
            try:
                importlib.import_module(name)
            except ImportError:
                # The fallback environment may lack one; user code then gets the explanation of a missing module.
                continue
        warm()


def warm():
    """The main scene in small: read, convert, group, print, draw, save."""
    import matplotlib.font_manager
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
    # A series by date goes through its own drawing code (and imports) in pandas.
    axes = frame.set_index('日期')['值'].resample('MS').sum().plot(title='销售额 −1', grid=True)
    axes.legend()
    plt.tight_layout()
    axes.figure.savefig(io.BytesIO(), format='png', dpi=50, bbox_inches='tight')
    figure, axes = plt.subplots(figsize=(3, 2))
    frame.plot(x='名称', y='值', kind='bar', ax=axes)
    axes.plot([1, 2], [3, 4], marker='o', label='甲')
    plt.xticks(rotation=45)
    axes.set_title('标题')
    figure.savefig(io.BytesIO(), format='png', dpi=50)
    plt.close('all')
    # Open font files can't be shared over a fork, so matplotlib drops them in each child; dropping them here first costs no child a copied page.
    forget_fonts = getattr(getattr(matplotlib.font_manager, '_get_font', None), 'cache_clear', None)
    if forget_fonts:
        forget_fonts()
