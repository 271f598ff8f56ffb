"""Describes the exception that ended a program: name, message, the line in the user's own code, a short traceback, an explanation."""
import errno
import os
import sys
import traceback

from . import explain

PACKAGE = os.path.dirname(os.path.abspath(__file__))
WORK = '/workspace/'
# Frames of libraries shown below the last of the user's own.
LIBRARY_TAIL = 2
MAX_FRAMES = 30
MAX_CHAIN = 4
# Python's own words between the exceptions of a chain.
CAUSE = '\nThe above exception was the direct cause of the following exception:\n\n'
CONTEXT = '\nDuring handling of the above exception, another exception occurred:\n\n'
MAX_MESSAGE = 2_000
MAX_TRACEBACK = 16_000
DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def describe(error, path, namespace, code):
    """{ error: { name, message, line, traceback, explanation }, kind }. `kind` names a limit that the error stands for, or is absent.

    The whole traceback, as Python prints it, goes to stderr.
    """
    frames = without_machinery(error)
    print_raw(error, frames)
    place = explain.Place(error, frames, path, namespace, code)
    message = text_of(error)[:MAX_MESSAGE]
    described = {
        'name': name_of(error),
        'message': message,
        'line': place.line,
        'traceback': short_traceback(error, frames, path, message),
        'explanation': explain.explain(place),
    }
    kind = limit_kind(error)
    return {'error': described, 'kind': kind} if kind else {'error': described}


def name_of(error):
    """The class name that people know: private subclasses of libraries lead to the public one above them."""
    return next((kind.__name__ for kind in type(error).__mro__ if not kind.__name__.startswith('_')), type(error).__name__)


def text_of(error):
    """str() of the exception, whatever its class does in it."""
    try:
        text = str(error)
    except Exception as fault:  # noqa: BLE001 - a hostile __str__
        text = f'(its text raised {type(fault).__name__})'
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')


def limit_kind(error):
    """'memory', 'disk' or 'threads' when the exception, or one that led to it, says that a limit was reached."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, MemoryError):
            return 'memory'
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return 'disk'
        if isinstance(error, RuntimeError) and "can't start new thread" in text_of(error):
            return 'threads'
        error = error.__cause__ or error.__context__
    return None


def without_machinery(error):
    """Frames of the traceback from the user's code on."""
    frames = traceback.extract_tb(error.__traceback__) if len_of(error.__traceback__) <= 200 else ends_of(error.__traceback__)
    start = next((i for i, frame in enumerate(frames) if not is_machinery(frame.filename)), len(frames))
    return [frame for frame in frames[start:] if not is_machinery(frame.filename)]


def is_machinery(filename):
    return filename.startswith(PACKAGE) or '/asyncio/' in filename and filename.startswith('/usr/lib/python3')


def len_of(step):
    """Depth of a traceback."""
    count = 0
    while step is not None:
        count, step = count + 1, step.tb_next
    return count


def ends_of(step):
    """The first and last frames of a very deep traceback; reading a source line for each of thousands takes seconds."""
    summary = list(traceback.walk_tb(step))
    return list(traceback.StackSummary.extract(iter(summary[:20] + summary[-20:])))


def is_own(frame, path):
    """A frame of the user's own code: the program, or a module it wrote into the work folder."""
    return frame.filename == path or frame.filename.startswith(WORK)


def short_traceback(error, frames, path, message):
    """The user's frames, the end of the library's, and the exception."""
    if isinstance(error, SyntaxError) and not any(is_own(frame, path) for frame in frames):
        return ''.join(traceback.format_exception_only(type(error), error))[:MAX_TRACEBACK]
    last_own = max((i for i, frame in enumerate(frames) if is_own(frame, path)), default=-1)
    own = [frame for frame in frames[: last_own + 1] if is_own(frame, path)]
    tail = frames[last_own + 1:][-LIBRARY_TAIL:]
    if len(own) > MAX_FRAMES:
        own = own[: MAX_FRAMES // 2] + own[-MAX_FRAMES // 2:]
    lines = ['Traceback (most recent call last):\n'] if own or tail else []
    lines += traceback.format_list([tidy(frame) for frame in own + tail])
    return (''.join(lines) + f'{name_of(error)}: {message}\n')[:MAX_TRACEBACK]


def tidy(frame):
    """A frame with paths as a person wrote them."""
    name = frame.filename.removeprefix(WORK)
    for root in ('/site-packages/', '/dist-packages/'):
        name = name.split(root)[-1]
    return traceback.FrameSummary(name, frame.lineno, frame.name, lookup_line=False, line=frame.line)


def raw_text(error, frames):
    """One exception as Python prints it, without the frames that run the program."""
    if isinstance(error, SyntaxError) and not frames:
        return ''.join(traceback.format_exception_only(type(error), error))
    lines = traceback.format_list(frames if len(frames) <= 2 * MAX_FRAMES else frames[:MAX_FRAMES] + frames[-MAX_FRAMES:])
    return 'Traceback (most recent call last):\n' + ''.join(lines) + ''.join(traceback.format_exception_only(type(error), error))


def print_raw(error, frames):
    """The traceback with the exceptions that led to it, bounded, on stderr."""
    try:
        parts, current = [raw_text(error, frames)], error
        for _ in range(MAX_CHAIN):
            before = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
            if before is None:
                break
            link = CAUSE if current.__cause__ else CONTEXT
            parts[:0] = [raw_text(before, without_machinery(before)), link]
            current = before
        text = ''.join(parts)
        sys.__stderr__.write(text[-MAX_TRACEBACK:] if len(text) > MAX_TRACEBACK else text)
        sys.__stderr__.flush()
    except Exception:  # noqa: BLE001 - stderr may be closed; the description still goes its own way
        pass
