"""Explains an exception in plain words, zh and en, with what is specific to it: the columns there are, the files there are, what to use instead.

Each rule looks at a `Place` and returns (zh, en) or None; the first that knows the case answers. Rules are grouped by subject in explain_*.py.
"""
import difflib
import os

from . import explain_data, explain_files, explain_python, explain_sandbox, explain_syntax

WORK = '/workspace'
# Names listed in an explanation, and the length of all of them together.
MAX_NAMES, MAX_NAMES_TEXT = 30, 600
RULES = (*explain_sandbox.RULES, *explain_syntax.RULES, *explain_files.RULES, *explain_data.RULES, *explain_python.RULES)


class Place:
    """Where and how a program failed, and what can be looked up there."""

    def __init__(self, error, frames, path, namespace, code):
        self.error = error
        self.frames = frames
        self.path = path
        self.namespace = namespace
        self.code = code
        self.line = self._line()

    def _line(self):
        """Line in the user's own code, or None."""
        if isinstance(self.error, SyntaxError) and self.error.filename == self.path:
            return self.error.lineno
        own = [frame.lineno for frame in self.frames if frame.filename == self.path]
        return own[-1] if own else None

    @property
    def text(self):
        """The exception's own text."""
        try:
            return str(self.error)
        except Exception:  # noqa: BLE001 - a hostile __str__
            return ''

    @property
    def source_line(self):
        """Text of the line that failed."""
        lines = self.code.split('\n')
        return lines[self.line - 1].strip() if self.line and self.line <= len(lines) else ''

    def called(self, *parts):
        """Whether a frame of the traceback lies in a file or function whose name has one of the parts."""
        return any(part in frame.filename or part == frame.name for frame in self.frames for part in parts)

    def local_values(self):
        """Values in reach where it failed: locals of every frame of the traceback, innermost first, then the program's globals."""
        tables, step = [], self.error.__traceback__
        while step is not None and len(tables) < 400:
            tables.append(step.tb_frame.f_locals)
            step = step.tb_next
        for table in reversed([self.namespace, *tables]):
            yield from list(table.values())

    def frames_of_data(self):
        """DataFrames in reach, innermost first, each once."""
        from . import tables

        seen = set()
        for value in self.local_values():
            if tables.is_table(value) and hasattr(value, 'columns') and id(value) not in seen:
                seen.add(id(value))
                yield value


def explain(place):
    """{ zh, en }; always something, and never an exception of its own."""
    for rule in RULES:
        try:
            found = rule(place)
        except Exception:  # noqa: BLE001 - hostile objects in the program's variables must not break the explanation
            continue
        if found:
            return {'zh': at_line(place, found[0], '第 {} 行：'), 'en': at_line(place, found[1], 'Line {}: ')}
    return general(place)


def at_line(place, text, prefix):
    """Puts the line before the sentence."""
    return (prefix.format(place.line) if place.line else '') + text


def general(place):
    """For an exception that no rule knows."""
    kind, text = type(place.error).__name__, place.text[:300]
    return {
        'zh': at_line(place, f'程序出错（{kind}）{"：" + text if text else "。"}', '第 {} 行：'),
        'en': at_line(place, f'the program failed with {kind}{": " + text if text else "."}', 'Line {}: '),
    }


def nearest(name, names, count=3):
    """The names most like this one, ignoring case, blanks and full-width forms."""
    import unicodedata

    def key(text):
        return ''.join(unicodedata.normalize('NFKC', str(text)).lower().replace('_', '').split())

    by_key = {}
    for candidate in names:
        by_key.setdefault(key(candidate), candidate)
    wanted = key(name)
    close = [by_key[match] for match in difflib.get_close_matches(wanted, list(by_key), count, 0.5)]
    contained = [candidate for other, candidate in by_key.items() if wanted and other and (wanted in other or other in wanted)]
    return list(dict.fromkeys(close + contained))[:count]


def listing(names):
    """Names in one line, each quoted where blanks would hide, bounded."""
    shown, length = [], 0
    for name in names:
        text = str(name)
        text = repr(text) if text != text.strip() or not text else text
        length += len(text) + 2
        if len(shown) >= MAX_NAMES or length > MAX_NAMES_TEXT:
            shown.append('…')
            break
        shown.append(text)
    return ', '.join(shown)


def work_files():
    """Relative names of the files in the work folder, bounded."""
    found = []
    for folder, folders, files in os.walk(WORK):
        folders[:] = [name for name in folders if not name.startswith(('.', '__'))][:20]
        for name in files:
            found.append(os.path.relpath(os.path.join(folder, name), WORK))
            if len(found) >= 200:
                return sorted(found)
    return sorted(found)
