"""A box started for tests and a client that speaks PROTOCOL.md to it."""
import glob
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

SANDBOX = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SANDBOX)
sys.dont_write_bytecode = True

from moli_sandbox import wire  # noqa: E402

BOX = os.path.join(SANDBOX, 'box.py')
CASES = os.path.join(SANDBOX, 'cases')
SYSTEM_PYTHON = '/usr/bin/python3'
# Longest that a test waits for a condition; a machine that is busy with other things must not fail it.
PATIENCE = 60.0


def find_python():
    """Interpreter of the environment that install.py made; the tests that need it are skipped without."""
    named = os.environ.get('MOLI_SANDBOX_PYTHON')
    if named:
        return named
    cache = os.environ.get('MOLI_CACHE') or ('/var/cache/moli' if os.geteuid() == 0 else os.path.expanduser('~/.cache/moli'))
    found = sorted(glob.glob(os.path.join(cache, 'python-*', 'moli.json')), key=os.path.getmtime)
    return os.path.join(os.path.dirname(found[-1]), 'bin', 'python') if found else None


PYTHON = find_python()
needs_python = unittest.skipUnless(PYTHON, 'no Python environment: run sandbox/install.py first')
needs_root = unittest.skipUnless(os.geteuid() == 0, 'only root can become another user')


class Result:
    """Everything that one run sent."""

    def __init__(self):
        self.stdout = self.stderr = b''
        self.displays, self.artifacts, self.order = [], [], []
        self.end = None
        self.started = False
        self.milliseconds = 0.0

    @property
    def text(self):
        return self.stdout.decode('utf-8', 'replace')

    @property
    def verdict(self):
        return self.end['verdict'] if self.end else None

    @property
    def error(self):
        return (self.end or {}).get('error') or {}

    def artifact(self, name):
        return next((item for item in self.artifacts if item['name'] == name), None)

    def take(self, kind, payload):
        """Takes one frame; True at the last one."""
        self.order.append(kind)
        if kind == 'O':
            self.stdout += payload
        elif kind == 'E':
            self.stderr += payload
        elif kind == 'S':
            self.started = True
        elif kind in 'PA':
            item = json.loads(payload, parse_constant=refuse_constant)
            item['content'] = b''
            (self.displays if kind == 'P' else self.artifacts).append(item)
            self.last = item
        elif kind == 'Q':
            self.last['content'] += payload
        elif kind == 'R':
            self.end = json.loads(payload, parse_constant=refuse_constant)
            return True
        return False


def refuse_constant(word):
    """NaN and Infinity are not JSON."""
    raise ValueError(f'{word} in a frame')


class Connection:
    """One run."""

    def __init__(self, path, code, files=(), limits=None, **job):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.begun = time.monotonic()
        files = dict(files)
        declared = [{'name': name, 'bytes': len(content)} for name, content in files.items()]
        self.send('J', json.dumps({'runId': 'run', 'code': code, 'limits': limits or {}, 'files': declared, **job}).encode())
        for content in files.values():
            for start in range(0, len(content), wire.MAX_PAYLOAD):
                self.send('D', content[start:start + wire.MAX_PAYLOAD])
        self.reader = wire.FrameReader()
        self.result = Result()

    def send(self, kind, payload=b''):
        self.socket.sendall(wire.frame(kind, payload))

    def finish(self):
        """Reads to the result."""
        return self.read_until(lambda result: False)

    def read_until(self, condition):
        """Reads frames until the condition holds or the result came."""
        while not condition(self.result):
            frame = self.reader.take()
            if frame is None:
                data = self.socket.recv(1 << 18)
                if not data:
                    raise AssertionError('the connection closed without a result')
                self.reader.feed(data)
            elif self.result.take(*frame):
                self.socket.close()
                break
        self.result.milliseconds = (time.monotonic() - self.begun) * 1000
        return self.result


class Box:
    """A started box.py."""

    def __init__(self, *arguments, user=None, slots=2, preload='core', environment=None, wrapped=None):
        """`wrapped`: makes the command from the state folder and the command."""
        self.folder = tempfile.mkdtemp(prefix='moli-test-')
        self.state = os.path.join(self.folder, 'state')
        os.mkdir(self.state, 0o700)
        become = {}
        if user is not None:
            os.chmod(self.folder, 0o711)
            os.chown(self.state, user, user)
            become = {'user': user, 'group': user, 'extra_groups': []}
        command = [SYSTEM_PYTHON, BOX, '--python', PYTHON, '--state', self.state, '--slots', str(slots), '--preload', preload, *arguments]
        if wrapped is not None:
            command = wrapped(self.state, command)
        self.log = open(os.path.join(self.folder, 'log'), 'w+', encoding='utf-8')
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={'PATH': '/usr/bin:/bin', **(environment or {})}, **become,
        )
        self.answer = json.loads(self.process.stdout.readline() or '{}')
        self.path = os.path.join(self.state, 'zygote.sock')

    def open(self, code, files=(), limits=None, **job):
        return Connection(self.path, code, files, limits, **job)

    def run(self, code, files=(), limits=None, **job):
        return self.open(code, files, limits, **job).finish()

    def stop(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()

    def close(self):
        self.stop()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def read_log(self):
        with open(os.path.join(self.folder, 'log'), encoding='utf-8') as file:
            return file.read()


class BoxCase(unittest.TestCase):
    """Tests that share one box a class."""

    arguments = ()
    slots = 2
    preload = 'core'

    @classmethod
    def setUpClass(cls):
        if not PYTHON:
            raise unittest.SkipTest('no Python environment: run sandbox/install.py first')
        cls.box = Box(*cls.arguments, slots=cls.slots, preload=cls.preload)
        cls.addClassCleanup(cls.box.close)
        if not cls.box.answer.get('ready'):
            raise AssertionError(f'the box did not start: {cls.box.answer}\n{cls.box.read_log()}')

    def run_code(self, code, files=(), limits=None, **job):
        return self.box.run(code, files, limits, **job)

    def assert_ok(self, result):
        self.assertEqual(result.verdict, 'ok', f'{result.end}\n{result.stderr.decode("utf-8", "replace")[-2000:]}')


def until(condition, what, seconds=PATIENCE):
    """Waits for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f'waited {seconds} s for: {what}')
        time.sleep(0.01)


def descendants(pid):
    """Ids of all processes below one."""
    parents = {}
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                with open(f'/proc/{name}/stat', encoding='utf-8', errors='replace') as file:
                    parents[int(name)] = int(file.read().rpartition(')')[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
    found, waiting = set(), [pid]
    while waiting:
        parent = waiting.pop()
        for child, above in parents.items():
            if above == parent and child not in found:
                found.add(child)
                waiting.append(child)
    return found


def group_folders(pid):
    """Folders of cgroups that a launcher made."""
    return [path for path in glob.glob('/sys/fs/cgroup/**/moli-*', recursive=True) if os.path.basename(path).split('-')[1] == str(pid)]


def read_case(name):
    """Text of a snippet without its header of `# key: value` lines."""
    with open(os.path.join(CASES, name), encoding='utf-8') as file:
        lines = file.read().split('\n')
    keys = ('case', 'files', 'expect', 'stdout', 'display', 'artifacts', 'note')
    start = next(i for i, line in enumerate(lines) if not line.startswith(tuple(f'# {key}:' for key in keys)))
    return '\n'.join(lines[start:])


def case_file(name):
    with open(os.path.join(CASES, 'files', name), 'rb') as file:
        return file.read()


def ordinary_user():
    """A user id that is not root: the highest that has no name."""
    uid = 65533
    names = {entry.pw_uid for entry in pwd.getpwall()}
    while uid in names:
        uid -= 1
    return uid
