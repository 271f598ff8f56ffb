"""Which warnings reach stderr: those of the person's own code, and those that say something about the data.

Libraries announce future changes of their interfaces to whoever calls them. That is noise for a person who asked for a chart, so it is dropped
when a library raised it; the same category raised by the program itself is shown.
"""
import re
import sys
import warnings

SITE_PACKAGES = ('/site-packages/', '/dist-packages/', '/usr/lib/python3')
ANNOUNCEMENTS = (FutureWarning, DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
NOISE = re.compile(
    r'^Glyph \d+ .* missing from|^FigureCanvas\w+ is non-interactive|^Matplotlib is currently using|^Tight layout not applied|'
    r'^The figure layout has changed|^This figure includes Axes that are not compatible|^More than \d+ figures have been opened|'
    r'^Could not infer format, so each element|^Workbook contains no default style|^Data Validation extension is not supported|'
    r'^Unknown extension is not supported|^Conditional Formatting extension'
)


def start():
    """Takes over what is shown; `warnings.catch_warnings` and filters of the program work as ever."""
    shown = warnings._showwarning_orig

    def show(message, category, filename, lineno, file=None, line=None):
        if file is None and is_noise(message, category):
            return
        shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def is_noise(message, category):
    """Whether a warning is a library's announcement or one of the known useless ones."""
    if NOISE.match(str(message)):
        return raised_by_library()
    return issubclass(category, ANNOUNCEMENTS) and raised_by_library()


def raised_by_library():
    """Looks for the frame that called warnings.warn: the first above the machinery."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.endswith(('/warnings.py', '/warnings_filter.py')):
        frame = frame.f_back
    return frame is not None and any(part in frame.f_code.co_filename for part in SITE_PACKAGES)
