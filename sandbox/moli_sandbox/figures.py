"""Charts: shown at plt.show(), or at the end when they were left open; once each, in order, within bounds.

A figure that was saved to a picture file in the work folder is not shown as well: the file is. After plt.show() the next plot begins a new
figure, as it does where a window was closed; a plt.savefig() right after show() still saves the figure that was shown.
"""
import io
import os
import sys
import time

WORK = ('/workspace', '/mnt/data')
PICTURE_SUFFIXES = ('.png', '.jpg', '.jpeg', '.svg', '.webp', '.gif')
# Pixels of one picture: a 4-byte pixel makes this 160 MB while it is drawn.
MAX_PIXELS = 40_000_000
# Pixels of a picture that is shown; larger ones are drawn smaller.
MAX_SHOWN_PIXELS = 8_000_000
MAX_FIGURES = 50
# A picture for the screen: twice the default, so that it can be opened large.
SCREEN_DPI = 144

_presenter = None
_drawn = {}
_order = []


class _Drawn:
    """What became of one figure."""

    def __init__(self):
        self.saved_as = None
        self.shown_as = None


def present_to(presenter):
    """Begins a run."""
    global _presenter
    _presenter = presenter
    _drawn.clear()
    _order.clear()


def set_up():
    """Once, in the zygote: the functions of pyplot that have to know of this."""
    import matplotlib
    import matplotlib.figure
    import matplotlib.pyplot as plt

    plt.switch_backend('agg')
    original_savefig = matplotlib.figure.Figure.savefig
    original_pyplot_savefig = plt.savefig

    def savefig(self, fname, *args, **kwargs):
        check_pixels(self, kwargs)
        result = original_savefig(self, fname, *args, **kwargs)
        note_saved(self, fname, kwargs.get('format'))
        return result

    def pyplot_savefig(*args, **kwargs):
        if not plt.get_fignums() and _order:
            return _order[-1].savefig(*args, **kwargs)
        return original_pyplot_savefig(*args, **kwargs)

    def pyplot_show(*args, **kwargs):
        show_open(close=True)

    matplotlib.figure.Figure.savefig = savefig
    matplotlib.figure.Figure.show = lambda self, *args, **kwargs: show(self)
    plt.savefig = pyplot_savefig
    plt.show = pyplot_show
    plt.pause = lambda interval: time.sleep(interval)
    # There is no screen and no other backend: whatever is asked for, pictures are drawn in memory.
    matplotlib.use = lambda backend, *, force=True: None
    plt.switch_backend = lambda newbackend: None


def is_figure(value):
    """A matplotlib Figure, without importing matplotlib."""
    return any(kind.__module__ == 'matplotlib.figure' and kind.__name__ == 'Figure' for kind in type(value).__mro__)


def is_drawing(value, depth=0):
    """What plotting calls return: axes, lines, collections with one of them in it. A figure counts too: it is shown as one left open."""
    if type(value) in (list, tuple, dict):
        items = value.values() if type(value) is dict else value
        return depth < 3 and any(is_drawing(item, depth + 1) for item, _ in zip(items, range(100)))
    if type(value).__module__ == 'numpy' and getattr(value, 'dtype', None) == object and value.size:
        return is_drawing(value.ravel()[0], depth + 1)
    plt = sys.modules.get('matplotlib.pyplot')
    if is_figure(value):
        return plt is not None and value.number in plt.get_fignums() if hasattr(value, 'number') else False
    return type(value).__module__.startswith(('matplotlib.', 'mpl_toolkits.')) or type(value).__module__ == 'seaborn.axisgrid'


def check_pixels(figure, arguments):
    """Refuses a picture that would take the memory of the run, before it is drawn."""
    dpi = arguments.get('dpi')
    dpi = figure.dpi if dpi in (None, 'figure') else float(dpi)
    width, height = (int(side * dpi) for side in figure.get_size_inches())
    if width * height > MAX_PIXELS:
        raise ValueError(f'picture of {width} x {height} pixels: more than the cap of {MAX_PIXELS:,} pixels; use a smaller figsize or dpi')


def note_saved(figure, target, kind):
    """Remembers that a figure went to a picture file of the work folder."""
    if not isinstance(target, (str, os.PathLike)):
        return
    path = os.path.abspath(os.fspath(target))
    if not os.path.splitext(path)[1]:
        path += f'.{kind or "png"}'
    folder = next((folder for folder in WORK if path.startswith(folder + '/')), None)
    if folder and path.lower().endswith(PICTURE_SUFFIXES):
        drawn = _drawn.setdefault(figure, _Drawn())
        drawn.saved_as = path[len(folder) + 1:]
        # Whatever is drawn from here on makes it stale again: then it is another picture.
        figure.stale = False


def saved_names():
    """{ file: name it was shown under }."""
    return {drawn.saved_as: drawn.shown_as for drawn in _drawn.values() if drawn.saved_as and drawn.shown_as}


def show_open(close=False):
    """Shows the open figures that were not seen yet. With `close` the next plot begins a new figure."""
    plt = sys.modules.get('matplotlib.pyplot')
    if plt is None or _presenter is None:
        return
    for number in plt.get_fignums():
        figure = plt.figure(number)
        if figure.get_axes() or figure.texts or figure.images:
            show(figure)
        _order.append(figure)
        if close:
            plt.close(figure)


def show(figure):
    """Shows one figure, unless it was seen and has not changed since."""
    if _presenter is None:
        return
    drawn = _drawn.setdefault(figure, _Drawn())
    if (drawn.saved_as or drawn.shown_as) and not figure.stale:
        return
    count = sum(1 for other in _drawn.values() if other.shown_as)
    if count >= MAX_FIGURES:
        if count == MAX_FIGURES:
            _presenter.send({'mimeType': 'text/plain', 'text': f'[图表超过 {MAX_FIGURES} 张，其余的没有显示 / more than {MAX_FIGURES} figures; the others are not shown]'})
            drawn.shown_as = ''
            _drawn[object()] = drawn_marker()
        return
    drawn.shown_as = draw(figure)
    figure.stale = False


def drawn_marker():
    """Counts as one more shown figure, so that the notice comes once."""
    marker = _Drawn()
    marker.shown_as = '…'
    return marker


def draw(figure):
    """Draws a figure and sends the picture; returns its name."""
    width, height = figure.get_size_inches()
    dpi = max(figure.dpi, SCREEN_DPI)
    if width * height * dpi * dpi > MAX_SHOWN_PIXELS:
        smaller = (MAX_SHOWN_PIXELS / (width * height)) ** 0.5
        if width * height * figure.dpi**2 > MAX_SHOWN_PIXELS:
            print(
                f'[figure of {width * figure.dpi:.0f} x {height * figure.dpi:.0f} pixels: shown smaller, the cap is {MAX_SHOWN_PIXELS:,} pixels]',
                file=sys.stderr,
            )
        dpi = smaller
    buffer = io.BytesIO()
    # Axis labels that stick out are kept, as a notebook does.
    type(figure).savefig(figure, buffer, format='png', dpi=dpi, bbox_inches='tight')
    name = _presenter.fresh_name('figure', 'png')
    send_image(buffer.getvalue(), 'image/png', 'png', name)
    return name


def send_image(data, kind, suffix, name=None):
    """Sends the bytes of a picture with its size; True when it was sent."""
    from .display import MAX_IMAGE_BYTES

    cap = _presenter.cap(MAX_IMAGE_BYTES)
    if len(data) > cap:
        _presenter.send({'mimeType': 'text/plain', 'text': f'[{kind}: {len(data):,} bytes, more than the cap of {cap:,} bytes]'})
        return True
    value = {'mimeType': kind, 'name': name or _presenter.fresh_name('figure', suffix)}
    if kind == 'image/png' and len(data) > 24:
        value['width'], value['height'] = int.from_bytes(data[16:20], 'big'), int.from_bytes(data[20:24], 'big')
    _presenter.send(value, data)
    return True


def show_picture(image):
    """A Pillow image."""
    width, height = image.size
    if width * height > MAX_PIXELS:
        _presenter.send({'mimeType': 'text/plain', 'text': f'[picture of {width} x {height} pixels: more than the cap of {MAX_PIXELS:,} pixels]'})
        return True
    if width * height > MAX_SHOWN_PIXELS:
        image = image.copy()
        scale = (MAX_SHOWN_PIXELS / (width * height)) ** 0.5
        image.thumbnail((int(width * scale), int(height * scale)))
    buffer = io.BytesIO()
    image.save(buffer, format='PNG')
    return send_image(buffer.getvalue(), 'image/png', 'png')
