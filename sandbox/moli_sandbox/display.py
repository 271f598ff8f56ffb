"""Shows values as a notebook does: the last expression, `display(x)`, tables, pictures, HTML, plain objects. Each kind bounded."""
import os
import reprlib

from . import figures, tables

# Characters of a plain object's text.
MAX_TEXT = 20_000
MAX_HTML_BYTES = 20 << 20
MAX_IMAGE_BYTES = 20 << 20
TABLE_TYPE = 'application/vnd.moli.table+json'
# In the order of preference of a notebook.
RICH = (
    ('_repr_html_', 'text/html', 'html'), ('_repr_markdown_', 'text/markdown', None), ('_repr_svg_', 'image/svg+xml', 'svg'),
    ('_repr_png_', 'image/png', 'png'), ('_repr_jpeg_', 'image/jpeg', 'jpg'), ('_repr_latex_', 'text/latex', None),
)

_presenter = None


def start(sender, limits):
    """The one presenter of a run."""
    global _presenter
    _presenter = Presenter(sender, limits)
    figures.present_to(_presenter)
    return _presenter


def current():
    """The presenter of this run; None in the zygote."""
    return _presenter


class BoundedRepr(reprlib.Repr):
    """repr() that stops: long containers are cut, cycles and depth end, keys keep their order."""

    def __init__(self):
        super().__init__()
        self.maxlevel = 12
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = self.maxdict = 500
        self.maxstring = self.maxother = self.maxlong = MAX_TEXT

    def repr_dict(self, value, level):
        if level <= 0 and value:
            return '{...}'
        pairs = [f'{self.repr1(key, level - 1)}: {self.repr1(value[key], level - 1)}' for _, key in zip(range(self.maxdict), value)]
        return '{' + ', '.join(pairs + ['...'] * (len(value) > self.maxdict)) + '}'

    def repr_instance(self, value, level):
        text = safe_repr(value)
        return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + '…'


def safe_repr(value):
    """repr() that an object's own fault does not break."""
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - any exception of a hostile or broken __repr__
        return f'<{type(value).__name__} object; its __repr__ raised {type(error).__name__}>'


def plain_text(value):
    """Bounded text of any value."""
    if type(value).__module__ == 'numpy' and hasattr(value, 'item') and getattr(value, 'ndim', 1) == 0:
        # numpy 2 writes np.int64(5); a person means 5.
        return str(value)
    text = BoundedRepr().repr(value) if type(value) in (dict, list, tuple, set, frozenset, str) else BoundedRepr().repr_instance(value, 1)
    text = text.encode('utf-8', 'backslashreplace').decode('utf-8')
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + '…'


def rich_method(value, name):
    """A bound method of that name, or None; objects that answer to every name have none."""
    if isinstance(value, type) or getattr(value, '_ipython_canary_method_should_not_exist_', None) is not None:
        return None
    method = getattr(value, name, None)
    return method if callable(method) else None


class Presenter:
    """Sends displays to the monitor."""

    def __init__(self, sender, limits):
        self.sender = sender
        self.limits = limits
        self.counts = {}

    def send(self, value, data=b''):
        """One display. What was printed before goes first."""
        import sys

        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        try:
            self.sender.send('P', value, data)
        except OSError:
            # The program closed the channel; its output still counts.
            pass

    def display(self, *values, **_ignored):
        """IPython's display(): each value by the best form it has."""
        for value in values:
            self.show(value)

    def show_last(self, value):
        """The value of the last expression; drawing calls return objects that nobody wants to read."""
        if not figures.is_drawing(value):
            self.show(value)

    def show(self, value):
        """One value by the best form it has; falls back to text."""
        try:
            shown = self._show_special(value) or self._show_rich(value)
        except (MemoryError, RecursionError):
            raise
        except Exception:  # noqa: BLE001 - a broken rich form must not cost the plain one
            shown = False
        if not shown:
            self.send({'mimeType': 'text/plain', 'text': plain_text(value)})

    def _show_special(self, value):
        if tables.is_table(value):
            self.send({'mimeType': TABLE_TYPE, 'text': plain_text(value), 'table': tables.build(value)})
            return True
        if figures.is_figure(value):
            figures.show(value)
            return True
        if type(value).__module__.startswith('PIL.') and hasattr(value, 'save'):
            return figures.show_picture(value)
        if own := rich_method(value, '_ipython_display_'):
            own()
            return True
        return False

    def _show_rich(self, value):
        if isinstance(value, type) or type(value) in (str, int, float, bool, dict, list, tuple, set):
            return False
        bundle = self._bundle(value)
        for method, kind, suffix in RICH:
            content = bundle.get(kind)
            if content is None and (own := rich_method(value, method)):
                content = own()
                content = content[0] if isinstance(content, tuple) else content
            if content is not None and self._send_rich(kind, suffix, content, value, bundle):
                return True
        return False

    def _bundle(self, value):
        method = rich_method(value, '_repr_mimebundle_')
        found = method() if method else None
        if isinstance(found, tuple):
            found = found[0]
        return found if isinstance(found, dict) else {}

    def _send_rich(self, kind, suffix, content, value, bundle):
        if suffix is None:
            self.send({'mimeType': kind, 'text': str(content)[:MAX_TEXT]})
            return True
        data = content if isinstance(content, bytes) else str(content).encode('utf-8', 'backslashreplace')
        if suffix in ('png', 'jpg') and isinstance(content, str):
            import base64

            data = base64.b64decode(content)
        text = bundle.get('text/plain') or plain_text(value)
        if suffix in ('png', 'jpg'):
            return figures.send_image(data, kind, suffix)
        return self.send_document(data, kind, suffix, str(text)[:MAX_TEXT])

    def send_document(self, data, kind, suffix, text):
        """HTML or SVG, kept apart from text: it is shown only where it can't do harm."""
        cap = self.cap(MAX_HTML_BYTES)
        if len(data) > cap:
            self.send({'mimeType': 'text/plain', 'text': f'{text}\n[{kind}: {len(data):,} bytes, more than the cap of {cap:,} bytes]'})
            return True
        self.send({'mimeType': kind, 'name': self.fresh_name('display', suffix), 'text': text}, data)
        return True

    def cap(self, most):
        """Bytes that one picture or page may have."""
        return min(most, int(self.limits['displayBytes']))

    def fresh_name(self, stem, suffix):
        """display-1.html, …: a name that no file of the work folder has."""
        while True:
            self.counts[stem] = self.counts.get(stem, 0) + 1
            name = f'{stem}-{self.counts[stem]}.{suffix}'
            if not os.path.lexists(f'/workspace/{name}'):
                return name

    def show_open_figures(self):
        """Figures that were drawn and neither shown, saved nor closed."""
        figures.show_open()

    def saved_names(self):
        """{ saved file: name it was shown under } of figures that were shown before they were saved."""
        return figures.saved_names()
