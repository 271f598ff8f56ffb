#!/usr/bin/python3
"""Makes the Python environment that user code runs in, once, and prints the path of its interpreter.

    /usr/bin/python3 sandbox/install.py --cache DIR

The environment lies at DIR/python-<key>; the key covers the pinned requirements, the interpreter and the machine, so that a change of any of
them makes a new one beside the old. It is built under another name and renamed when whole: an interrupted install is never taken for a finished
one. Progress goes to stderr; the last line of stdout is the path of the interpreter. Where the wheels can't be had, Debian's python3-* packages
take their place. Exit status: 0 done, 1 not possible (the reason and what to do are on stderr).
"""
import argparse
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
REQUIREMENTS = os.path.join(HERE, 'requirements.txt')
# Debian's interpreter by its full name: `python3` on PATH may be one that lies in a home folder and can't be bound into the box.
SYSTEM_PYTHON = '/usr/bin/python3'
# Raised when the layout that this script makes changes.
LAYOUT = 1
DEBIAN_PACKAGES = (
    'python3-pandas python3-numpy python3-matplotlib python3-scipy python3-sklearn python3-openpyxl python3-xlrd python3-xlsxwriter '
    'python3-seaborn python3-pil python3-tabulate python3-jinja2 python3-lxml python3-bs4 python3-docx python3-sympy python3-statsmodels '
    'python3-jieba python3-chardet'
).split()
# Without these three the product's main scene does not work; the others may be missing in the fallback.
ESSENTIAL = ('numpy', 'pandas', 'matplotlib')
MODULES = (
    'numpy pandas matplotlib matplotlib.pyplot scipy scipy.stats scipy.optimize sklearn sklearn.ensemble pyarrow openpyxl xlrd xlsxwriter '
    'seaborn PIL plotly plotly.express tabulate jinja2 lxml.etree bs4 docx pptx pypdf sympy statsmodels.api jieba chardet'
).split()
PROVE = '''
import importlib, json, sys
versions, missing = {}, {}
for name in sys.argv[1:]:
    try:
        module = importlib.import_module(name)
        if "." not in name:
            versions[name] = str(getattr(module, "__version__", ""))
    except Exception as error:
        missing[name] = f"{type(error).__name__}: {error}"
print(json.dumps({"versions": versions, "missing": missing}))
'''
FONT_LIST = '''
import matplotlib, matplotlib.font_manager
print(len(matplotlib.font_manager.fontManager.ttflist))
'''
# See moli_sandbox/property_tables.py. A class that is looked at twice may have changed in between: both times are searched for.
PROPERTY_TABLES = '''
import json, sys
from matplotlib import __version__, artist
made, search = {}, artist.kwdoc
def kwdoc(of):
    table = search(of)
    made.setdefault(f"{of.__module__}.{of.__qualname__}", set()).add(table)
    return table
artist.kwdoc = kwdoc
import matplotlib.pyplot
tables = {name: table for name, (table, *others) in made.items() if not others}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump({"matplotlib": __version__, "tables": tables}, file)
'''
STARTED = time.monotonic()


class InstallError(Exception):
    """A step that failed; the message says what to do."""


def say(message):
    """One progress line on stderr, with the seconds since the start."""
    print(f'[{time.monotonic() - STARTED:6.1f} s] {message}', file=sys.stderr, flush=True)


def environment_key(python, kind):
    """Key of an environment: requirements, interpreter, machine, layout; 16 hex digits."""
    digest = hashlib.sha256()
    with open(REQUIREMENTS, 'rb') as file:
        digest.update(file.read())
    version = subprocess.run([python, '-c', 'import sys; print(sys.version)'], check=True, capture_output=True, text=True).stdout
    digest.update(f'{LAYOUT}|{kind}|{python}|{version}|{platform.machine()}'.encode())
    return digest.hexdigest()[:16]


def clean_environ():
    """Environment of child processes: the caller's, without what redirects Python."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith('PYTHON')}
    environ.pop('VIRTUAL_ENV', None)
    return environ


def run(command, what):
    """Runs a command, showing its output on stderr line by line; raises InstallError when it fails."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=clean_environ())
    last = []
    for line in process.stdout:
        last = (last + [line.rstrip()])[-15:]
        if line.startswith(('Collecting', 'Downloading', 'Installing', 'Get:', 'Unpacking', 'Setting up', '  Downloading')):
            say(f'  {line.strip()[:150]}')
    if process.wait() != 0:
        raise InstallError(f'{what} failed ({" ".join(command[:6])} …):\n    ' + '\n    '.join(last))


def apt_install(packages, why):
    """Installs Debian packages when root; otherwise raises with the exact command."""
    command = ['apt-get', 'install', '-y', '--no-install-recommends', *packages]
    if os.geteuid() != 0 or not shutil.which('apt-get'):
        raise InstallError(f'{why}. Install it as an administrator and try again:\n    sudo {" ".join(command)}')
    say(f'{why}; installing {" ".join(packages)}')
    os.environ['DEBIAN_FRONTEND'] = 'noninteractive'
    try:
        run(command, 'apt-get install')
    except InstallError:
        run(['apt-get', 'update'], 'apt-get update')
        run(command, 'apt-get install')


def check_interpreter(python):
    """The interpreter exists, is new enough, and can make environments."""
    if not os.path.exists(python):
        apt_install(['python3', 'python3-venv'], f'{python} is missing')
    probe = subprocess.run([python, '-c', 'import sys; print(sys.version_info >= (3, 11))'], capture_output=True, text=True, check=False)
    if probe.stdout.strip() != 'True':
        raise InstallError(f'{python} is older than 3.11; the sandbox needs Python 3.11 or newer')
    if subprocess.run([python, '-c', 'import ensurepip, venv'], capture_output=True, check=False).returncode != 0:
        apt_install(['python3-venv'], 'The module that makes environments (python3-venv) is missing')


def build_wheels(python, folder):
    """Environment from the pinned wheels, every file checked against its hash."""
    say('making an environment from wheels')
    run([python, '-m', 'venv', folder], 'venv')
    inner = os.path.join(folder, 'bin', 'python')
    run([inner, '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', '--no-cache-dir', '--require-hashes', '-r', REQUIREMENTS], 'pip install')


def build_debian(python, folder):
    """Environment that sees Debian's own packages."""
    present = subprocess.run([python, '-c', f'import {", ".join(ESSENTIAL)}'], capture_output=True, env=clean_environ(), check=False).returncode == 0
    if not present:
        apt_install(DEBIAN_PACKAGES, 'Python wheels can\'t be had here and Debian\'s packages are not installed')
    say('making an environment over Debian\'s python3-* packages')
    run([python, '-m', 'venv', '--system-site-packages', '--without-pip', folder], 'venv')


def prove(folder):
    """Imports everything; raises when an essential package is missing. Returns { versions, missing }."""
    result = subprocess.run(
        [os.path.join(folder, 'bin', 'python'), '-I', '-c', PROVE, *MODULES],
        capture_output=True, text=True, env={**clean_environ(), 'MPLBACKEND': 'Agg', 'MPLCONFIGDIR': os.path.join(folder, 'mpl')}, check=False,
    )
    if result.returncode != 0:
        raise InstallError(f'the environment does not start: {result.stderr[-800:]}')
    report = json.loads(result.stdout.splitlines()[-1])
    broken = [name for name in ESSENTIAL if name in report['missing']]
    if broken:
        raise InstallError(f'the environment can\'t import {", ".join(broken)}: {report["missing"][broken[0]]}')
    return report


def font_signature():
    """Changes when a font folder of the system changes."""
    stamps = []
    for root in ('/usr/share/fonts', '/usr/local/share/fonts'):
        for path, _, files in os.walk(root):
            stamps.append(f'{path}:{os.stat(path).st_mtime_ns}:{len(files)}')
    return hashlib.sha256('\n'.join(sorted(stamps)).encode()).hexdigest()[:16]


def build_font_list(folder):
    """matplotlib's font list, made once: without it each zygote would read every font file (1 s)."""
    signature = font_signature()
    marker = os.path.join(folder, 'mpl', 'signature')
    try:
        with open(marker, encoding='ascii') as file:
            if file.read() == signature:
                return
    except FileNotFoundError:
        pass
    fresh = os.path.join(folder, f'.mpl-{os.getpid()}')
    shutil.rmtree(fresh, ignore_errors=True)
    os.makedirs(fresh)
    # HOME is not looked into: a user's private fonts are not in the box.
    count = subprocess.run(
        [os.path.join(folder, 'bin', 'python'), '-I', '-c', FONT_LIST], capture_output=True, text=True, check=False,
        env={'PATH': '/usr/bin:/bin', 'HOME': fresh, 'MPLBACKEND': 'Agg', 'MPLCONFIGDIR': fresh, 'LANG': 'C.UTF-8'},
    )
    if count.returncode != 0:
        raise InstallError(f'matplotlib can\'t list the fonts: {count.stderr[-500:]}')
    with open(os.path.join(fresh, 'signature'), 'w', encoding='ascii') as file:
        file.write(signature)
    shutil.rmtree(os.path.join(folder, 'mpl'), ignore_errors=True)
    os.rename(fresh, os.path.join(folder, 'mpl'))
    say(f'font list: {count.stdout.strip()} faces')


def build_property_tables(folder):
    """What matplotlib would search for at each start, made once (moli_sandbox/property_tables.py)."""
    path = os.path.join(folder, 'property-tables.json')
    if os.path.exists(path):
        return
    half = f'{path}.{os.getpid()}'
    made = subprocess.run(
        [os.path.join(folder, 'bin', 'python'), '-I', '-c', PROPERTY_TABLES, half], capture_output=True, text=True, check=False,
        env={**clean_environ(), 'MPLBACKEND': 'Agg', 'MPLCONFIGDIR': os.path.join(folder, 'mpl')},
    )
    if made.returncode != 0:
        raise InstallError(f'matplotlib can\'t list the properties of its classes: {made.stderr[-500:]}')
    os.rename(half, path)


def build(kind, python, target):
    """Builds an environment beside its final place and renames it when it is whole."""
    fresh = os.path.join(os.path.dirname(target), f'.{os.path.basename(target)}.{os.getpid()}')
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        (build_wheels if kind == 'wheels' else build_debian)(python, fresh)
        # Console scripts name the folder that is about to be renamed; nothing here uses them.
        for name in os.listdir(os.path.join(fresh, 'bin')):
            path = os.path.join(fresh, 'bin', name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif not name.startswith('python'):
                os.unlink(path)
        say('importing every package')
        report = prove(fresh)
        build_font_list(fresh)
        build_property_tables(fresh)
        with open(os.path.join(fresh, 'moli.json'), 'w', encoding='utf-8') as file:
            json.dump({'kind': kind, **report}, file, indent=1)
        os.rename(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    for name, reason in report['missing'].items():
        say(f'  not there: {name} ({reason[:120]})')


def install(cache, python, kinds):
    """Returns the folder of a whole environment, building it when it is not there."""
    targets = {kind: os.path.join(cache, f'python-{environment_key(python, kind)}') for kind in kinds}
    for kind, target in targets.items():
        if os.path.exists(os.path.join(target, 'moli.json')):
            say(f'environment is there ({kind})')
            build_font_list(target)
            build_property_tables(target)
            return target
    failure = None
    for kind, target in targets.items():
        try:
            build(kind, python, target)
            return target
        except InstallError as error:
            failure = error
            say(f'{kind}: {error}')
    raise InstallError(f'no Python environment could be made: {failure}')


def remove_leftovers(cache):
    """Half-built environments of installs that died; the caller holds the lock, so none of them is in use."""
    for name in os.listdir(cache):
        if name.startswith('.python-'):
            shutil.rmtree(os.path.join(cache, name), ignore_errors=True)


def default_cache():
    """Where the environment lies unless told: MOLI_CACHE, else a system or a user's cache folder."""
    if os.environ.get('MOLI_CACHE'):
        return os.environ['MOLI_CACHE']
    return '/var/cache/moli' if os.geteuid() == 0 else os.path.expanduser('~/.cache/moli')


def main():
    parser = argparse.ArgumentParser(description='Make the Python environment of the sandbox.')
    parser.add_argument('--cache', default=default_cache(), help='folder that holds environments (default: %(default)s)')
    parser.add_argument('--python', default=SYSTEM_PYTHON, help='interpreter to build on (default: %(default)s)')
    parser.add_argument('--only', choices=('wheels', 'debian'), help='do not fall back to the other kind')
    options = parser.parse_args()
    cache = os.path.abspath(options.cache)
    try:
        os.makedirs(cache, exist_ok=True)
        with open(os.path.join(cache, '.lock'), 'a', encoding='ascii') as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            check_interpreter(options.python)
            remove_leftovers(cache)
            folder = install(cache, options.python, (options.only,) if options.only else ('wheels', 'debian'))
    except (InstallError, OSError) as error:
        print(f'install: {error}', file=sys.stderr)
        return 1
    say('ready')
    print(os.path.join(folder, 'bin', 'python'))
    return 0


if __name__ == '__main__':
    sys.exit(main())
