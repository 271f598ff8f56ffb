"""What notebooks offer beyond Python, as far as it makes sense without a shell: a few commands on files, and answers to installers."""
import glob
import importlib.util
import os
import re
import shlex

# Import name by the name that people install.
IMPORT_NAMES = {
    'scikit-learn': 'sklearn', 'pillow': 'PIL', 'beautifulsoup4': 'bs4', 'python-docx': 'docx', 'python-pptx': 'pptx', 'opencv-python': 'cv2',
    'pyyaml': 'yaml', 'python-dateutil': 'dateutil', 'xlsxwriter': 'xlsxwriter', 'ipython': 'IPython', 'jinja2': 'jinja2',
}
SILENT_MAGICS = {
    'matplotlib', 'config', 'load_ext', 'reload_ext', 'autoreload', 'pylab', 'precision', 'env', 'set_env', 'reset', 'who', 'whos', 'history',
    'alias', 'automagic', 'xmode', 'pdb', 'debug', 'capture', 'time', 'timeit', 'html', 'javascript', 'js', 'markdown', 'latex', 'svg',
}


class ShellNotAvailable(PermissionError):
    """A command of a shell was asked for; a run has none."""


def magic(name, rest, marks):
    """A `%name rest` or `%%name rest` line: settings are accepted in silence, file commands done, programs refused."""
    if name in SILENT_MAGICS:
        return None
    if name in COMMANDS:
        return shell(f'{name} {rest}')
    raise ShellNotAvailable(f'%{name} needs a notebook or a shell')


def shell(command, capture=False):
    """A `!command` line. With `capture` the lines are returned, else printed."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    words = [word for word in words if word != 'sudo'] or ['']
    if words[0] in ('python', 'python3') and words[1:2] == ['-m']:
        words = words[2:] or ['']
    name = os.path.basename(words[0])
    if name in ('pip', 'pip3', 'conda', 'mamba', 'uv', 'apt', 'apt-get'):
        lines = install_answer(words[1:])
    elif name in COMMANDS and not re.search(r'[|><;&`$]', command):
        lines = COMMANDS[name](words[1:])
    else:
        raise ShellNotAvailable(f'no shell here: {command}')
    if capture:
        return lines
    for line in lines:
        print(line)
    return None


def install_answer(words):
    """Nothing can be installed; what was asked for is often there already."""
    wanted = [re.split(r'[=<>!~\[;]', word)[0] for word in words if not word.startswith('-') and word not in ('install', 'pip', 'update', 'upgrade')]
    lines = []
    for package in wanted:
        module = IMPORT_NAMES.get(package.lower(), package.replace('-', '_'))
        there = is_importable(module)
        lines.append(f'{package}: 已安装 (already installed)' if there else f'{package}: 未安装，运行环境没有网络，不能安装 (not installed; a run has no network)')
    return lines or ['运行环境没有网络，不能安装软件包 (packages cannot be installed in a run)']


def is_importable(module):
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _paths(words):
    return [path for word in words if not word.startswith('-') for path in (sorted(glob.glob(word)) or [word])]


def _ls(words):
    lines = []
    for path in _paths(words) or ['.']:
        lines += sorted(name for name in os.listdir(path) if not name.startswith('.')) if os.path.isdir(path) else [path]
    return lines


def _head(words, default=10):
    count = next((int(digits) for word in words if (digits := re.sub(r'^-n?', '', word)).isdigit()), default)
    files = [path for path in _paths(words) if not path.isdigit()]
    return [line.rstrip('\n') for path in files for line, _ in zip(open(path, encoding='utf-8', errors='replace'), range(count))]


def _mkdir(words):
    for path in _paths(words):
        os.makedirs(path, exist_ok=True)
    return []


COMMANDS = {
    'ls': _ls,
    'dir': _ls,
    'pwd': lambda words: [os.getcwd()],
    'cat': lambda words: _head(words, 10_000),
    'head': _head,
    'mkdir': _mkdir,
    'echo': lambda words: [' '.join(words)],
}
