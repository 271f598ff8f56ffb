"""IPython.display in a run: values are shown in the answer, in order."""
import base64
import builtins
import html
import json
import os

__all__ = (
    'display clear_output update_display HTML Markdown Image SVG JSON Latex Math Pretty Code Javascript IFrame FileLink FileLinks Audio Video '
    'DisplayHandle DisplayObject set_matplotlib_formats'
).split()


class DisplayHandle:
    """Answer of display(display_id=True); an update is shown as a new display."""

    def __init__(self, display_id=None):
        self.display_id = display_id

    def display(self, obj, **kwargs):
        display(obj)

    update = display


def display(*objs, display_id=None, **kwargs):
    """Shows each value by the best form it has."""
    builtins.display(*objs)
    return DisplayHandle(display_id) if display_id else None


def update_display(obj, *, display_id=None, **kwargs):
    """Shows the value; what was shown before stays."""
    display(obj)


def clear_output(wait=False):
    """What was shown stays."""


def set_matplotlib_formats(*formats, **kwargs):
    """Charts are pictures in any case."""


class DisplayObject:
    """Something with content from a string, a file, or bytes."""

    def __init__(self, data=None, url=None, filename=None, metadata=None, **kwargs):
        if data is not None and filename is None and isinstance(data, (str, os.PathLike)) and len(str(data)) < 500 and os.path.isfile(data):
            filename, data = data, None
        self.url, self.filename = url, filename
        self.data = data
        if data is None and filename is not None:
            with open(filename, 'rb') as file:
                content = file.read()
            self.data = content if self.binary else content.decode('utf-8')

    binary = False


class HTML(DisplayObject):
    def _repr_html_(self):
        return self.data

    def __repr__(self):
        return '<HTML>'


class Markdown(DisplayObject):
    def _repr_markdown_(self):
        return self.data


class Latex(DisplayObject):
    def _repr_latex_(self):
        return self.data


class Math(Latex):
    def _repr_latex_(self):
        return f'$\\displaystyle {self.data.strip("$")}$'


class SVG(DisplayObject):
    def _repr_svg_(self):
        return self.data


class Pretty(DisplayObject):
    def __repr__(self):
        return str(self.data)


class Code(Pretty):
    def __init__(self, data=None, url=None, filename=None, language=None, **kwargs):
        super().__init__(data, url, filename)


class JSON(DisplayObject):
    def __repr__(self):
        return self.data if isinstance(self.data, str) else json.dumps(self.data, ensure_ascii=False, indent=2, default=str)


class Javascript(DisplayObject):
    def __repr__(self):
        return '<Javascript: not executed in a run>'


class Image(DisplayObject):
    binary = True

    def __init__(self, data=None, url=None, filename=None, format=None, width=None, height=None, **kwargs):
        super().__init__(data, url, filename)

    def _repr_png_(self):
        return self.data if isinstance(self.data, bytes) and self.data.startswith(b'\x89PNG') else None

    def _repr_jpeg_(self):
        return self.data if isinstance(self.data, bytes) and self.data.startswith(b'\xff\xd8') else None

    def __repr__(self):
        return f'<Image {self.url or self.filename or ""}>'


class _Media(DisplayObject):
    binary = True
    tag = kind = ''

    def __init__(self, data=None, filename=None, url=None, rate=None, **kwargs):
        super().__init__(data if isinstance(data, (bytes, str, os.PathLike)) else None, url, filename)

    def _repr_html_(self):
        encoded = base64.b64encode(self.data or b'').decode()
        return f'<{self.tag} controls src="data:{self.kind};base64,{encoded}"></{self.tag}>'


class Audio(_Media):
    tag, kind = 'audio', 'audio/wav'


class Video(_Media):
    tag, kind = 'video', 'video/mp4'


class IFrame:
    """A page from elsewhere is not loaded; its address is shown."""

    def __init__(self, src, width=None, height=None, **kwargs):
        self.src = src

    def __repr__(self):
        return f'<IFrame {self.src}>'


class FileLink:
    """A file of the work folder; files are listed beside the answer in any case."""

    def __init__(self, path, **kwargs):
        self.path = path

    def __repr__(self):
        return html.unescape(str(self.path))


class FileLinks(FileLink):
    """A folder of files."""
