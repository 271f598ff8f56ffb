"""Runs the code of a job as __main__, like a cell of a notebook, and tells the monitor how it ended. Behind closed walls."""
import __future__

import ast
import asyncio
import atexit
import builtins
import gc
import inspect
import io
import linecache
import os
import random
import ssl
import sys
import tempfile
import threading
import types

from . import display, failure, notebook, source, warnings_filter

FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
FUTURES = 0
for feature in __future__.all_feature_names:
    FUTURES |= getattr(__future__, feature).compiler_flag
WORK = '/workspace'
# What OpenSSL takes for its seed (256 bits).
RANDOM_BYTES = 32
WRITERS = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def run(job, sender):
    """Never returns: the process ends with the program."""
    sys.argv = [job['filename'], *job['argv']]
    # Only what lies or is written there can shadow a module, only for this run, and only behind closed walls.
    sys.path.insert(0, WORK)
    gc.enable()
    presenter = display.start(sender, job['limits'])
    result = {'exitCode': 0, 'error': None}
    path = f'{WORK}/{job["filename"]}'
    namespace = make_main(path, presenter)
    code = ''
    try:
        code = source.clean(job['code'])
        linecache.cache[path] = (len(code), None, [line + '\n' for line in code.split('\n')], path)
        execute(code, path, namespace, presenter)
        presenter.show_open_figures()
    except SystemExit as ending:
        result['exitCode'] = exit_code(ending)
        presenter.show_open_figures()
    except BaseException as error:  # noqa: BLE001 - whatever a program raises is its result
        result.update(exitCode=1, **failure.describe(error, path, namespace, code))
    finish(result, presenter, sender, namespace)


def prepare_process():
    """Gives this process what must not be the same in every run of a zygote: randomness, standard streams. Done while the slot waits."""
    random.seed()
    tempfile._name_sequence = None
    tempfile.tempdir = None
    if 'numpy' in sys.modules:
        sys.modules['numpy'].random.seed()
    if 'sympy.core.random' in sys.modules:
        sys.modules['sympy.core.random'].seed()
    # OpenSSL knows a fork by its process id, which is 1 in the zygote and in every run: without this all would draw the same.
    ssl.RAND_add(os.urandom(RANDOM_BYTES), RANDOM_BYTES)
    # Lines leave at once, so that a reader follows along and a run that is ended keeps what it said.
    sys.stdin = open(0, encoding='utf-8')
    sys.stdout = open(1, 'w', encoding='utf-8', errors='surrogateescape', buffering=1)
    sys.stderr = open(2, 'w', encoding='utf-8', errors='backslashreplace', buffering=1)
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    sys.dont_write_bytecode = True
    warnings_filter.start()


def make_main(path, presenter):
    """A fresh __main__ with what a notebook has: `display` and the functions that rewritten magics call."""
    main = types.ModuleType('__main__')
    sys.modules['__main__'] = main
    builtins.display = presenter.display
    setattr(builtins, source.SHELL_FUNCTION, notebook.shell)
    setattr(builtins, source.MAGIC_FUNCTION, notebook.magic)
    main.__dict__.update(__file__=path, __builtins__=builtins)
    return main.__dict__


def execute(code, path, namespace, presenter):
    """Runs all statements; shows the value of a last expression."""
    if '\0' in code:
        # Up to 3.11 this is a bare ValueError without a place.
        before = code[: code.index('\0')]
        raise SyntaxError('source code string cannot contain null bytes', (path, before.count('\n') + 1, len(before.split('\n')[-1]) + 1, None))
    tree = compile(code, path, 'exec', ast.PyCF_ONLY_AST | FLAGS, dont_inherit=True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.ends_with_semicolon(code):
        last = tree.body.pop()
    body = compile(tree, path, 'exec', FLAGS, dont_inherit=True)
    # One event loop for both parts; the runner makes it when the first await is met.
    loop = asyncio.Runner()
    evaluate(body, namespace, loop)
    if last is not None:
        flags = FLAGS | body.co_flags & FUTURES
        value = evaluate(compile(ast.Expression(last.value), path, 'eval', flags, dont_inherit=True), namespace, loop)
        if value is not None:
            namespace['_'] = value
            presenter.show_last(value)


def evaluate(code, namespace, loop):
    """Runs compiled code; code with a top-level await gets an event loop."""
    if code.co_flags & inspect.CO_COROUTINE:
        return loop.run(eval(code, namespace))
    return eval(code, namespace)


def exit_code(ending):
    """Exit status of a SystemExit, as the interpreter has it: text goes to stderr and means 1."""
    if ending.code is None:
        return 0
    if isinstance(ending.code, int):
        return ending.code & 0xFF
    print(ending.code, file=sys.stderr)
    return 1


def finish(result, presenter, sender, namespace):
    """What a normal end of the interpreter would do, then the result, then the end. Threads that are left do not hold it up."""
    try:
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - an exit hook must not cost the result
        sys.excepthook(*sys.exc_info())
    # What threads that are left say of their end is no news of the program's.
    threading.excepthook = lambda _: None
    # Files that the program did not close are written out when their last owner goes.
    namespace.clear()
    try:
        gc.collect()
        for thing in gc.get_objects():
            if type(thing) in WRITERS and not thing.closed:
                thing.flush()
    except BaseException:  # noqa: BLE001 - a full disk or a hostile object: the result comes all the same
        pass
    result['saved'] = presenter.saved_names()
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    try:
        sender.send('R', result)
    except OSError:
        pass
    os._exit(result['exitCode'])
