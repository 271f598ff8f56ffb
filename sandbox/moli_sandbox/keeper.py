"""The launcher's side, outside the box: makes the box, answers requests for cgroups, and sees that nothing is left when it ends."""
import concurrent.futures
import json
import os
import select
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
import traceback

from . import advice, canary, cgroup_tree, outer, plain, proof
from . import syscalls as kernel

# The strongest first; each word is a layer.
LAYERS = ('userns', 'landlock', 'seccomp', 'cgroup')
READY_SECONDS = 60.0
# Zygotes or slots lost in a row before the first was ever ready: it will not become better.
MAX_FALSE_STARTS = 3
EXIT_REFUSED = 3
# Descriptors that the init process finds at these numbers.
LISTENER, KEEPER_REQUESTS, REPORT = 3, 4, 5


class Refused(Exception):
    """The box can't be had here; `zh` and `en` say why, `missing` which layers."""

    def __init__(self, en, zh, missing=(), strength=''):
        super().__init__(en)
        self.en, self.zh, self.missing, self.strength = en, zh, list(missing), strength


def log(level, message, **fields):
    """One JSON log line on stderr."""
    print(json.dumps({'level': level, 'time': int(time.time() * 1000), 'msg': message, **fields}, ensure_ascii=False), file=sys.stderr, flush=True)


class NamespacesRefused(Refused):
    """The node or the machine lets this user make no namespaces."""


class Keeper:
    """One outer box. `options` as box.py parses them."""

    # Whether the box ends after one run; whether it has no namespaces.
    once = plain = False
    # Longest wait for the first slots.
    ready_seconds = READY_SECONDS

    def __init__(self, options):
        self.options = options
        self.box = None
        self.boxfd = None
        self.socket_path = self.socket_inode = None
        self.trees = None
        self.reports = b''
        # What the first process of the box found about its namespaces.
        self.sealed = None
        self.ended = self.told_to_end = False
        self.probe_folder = None

    def run(self):
        """Until the box ends. Returns the exit status."""
        try:
            kernel.set_parent_death_signal(signal.SIGTERM)
            self.come_up()
            found = self.try_canary()
            self.check_strength(found['strength'])
            self.say({'ready': True, **found, 'slots': self.options.slots})
            if not self.options.probe:
                self.keep()
            return self.status()
        except (Refused, canary.CanaryDied, OSError) as error:
            self.refuse(error)
            return EXIT_REFUSED
        finally:
            self.end()

    def say(self, answer):
        print(json.dumps(answer, ensure_ascii=False), flush=True)

    def refuse(self, error):
        if not isinstance(error, Refused):
            reason = f'{type(error).__name__}: {error}'
            if not isinstance(error, canary.CanaryDied):
                log('error', 'sandbox failed', trace=traceback.format_exc()[-2000:])
            error = Refused(f'The sandbox could not be started: {reason}', f'无法启动沙箱：{reason}', LAYERS[:1])
        self.say({
            'ready': False, 'reason': f'{error.zh} / {error.en}', 'reasons': {'zh': error.zh, 'en': error.en},
            'missing': error.missing, 'strength': error.strength,
        })

    def check_strength(self, strength):
        wanted, got = self.options.min_strength.split('+'), strength.split('+')
        missing = [layer for layer in wanted if layer not in got and layer != 'plain']
        if missing:
            words = ', '.join(missing)
            raise Refused(
                f'This machine gives the sandbox only {strength}; {words} is missing, and {self.options.min_strength} is asked for.',
                f'这台机器的沙箱强度只有 {strength}，缺少 {words}；配置要求 {self.options.min_strength}。',
                missing, strength,
            )

    def come_up(self):
        """Until the box has its slots."""
        self.start()
        self.wait_until_ready()
        self.check_namespaces()

    def check_namespaces(self):
        """The first process of the box must be in namespaces of its own."""
        faults = proof.faults(self.sealed) if self.sealed else ['no word from inside']
        if faults:
            words = ', '.join(faults)
            raise Refused(f'The walls of the box do not stand: {words}', f'沙箱的隔离没有建立：{words}', LAYERS[:1])

    def start(self):
        """Makes the socket, the cgroup trees and the box."""
        if not os.access(self.options.python, os.X_OK) or not os.path.isfile(os.path.join(environment_of(self.options.python), 'pyvenv.cfg')):
            raise Refused(
                f'{self.options.python} is not the interpreter of a Python environment. Make one with: /usr/bin/python3 sandbox/install.py',
                f'{self.options.python} 不是 Python 环境的解释器。请先执行：/usr/bin/python3 sandbox/install.py', ['python'])
        state = self.options.state
        if state is None:
            state = self.probe_folder = tempfile.mkdtemp(prefix='moli-probe-')
        self.socket_path = os.path.join(state, 'zygote.sock')
        listener = self.listen()
        self.trees = self.open_groups()
        requests, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        requests.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self.groups = cgroup_tree.Groups(self.trees, requests, log)
        self.report, report_write = os.pipe()
        self.wake, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(self.wake, False)
        self.box = os.fork()
        if self.box == 0:
            self.become_launcher(listener, theirs, report_write)
        self.boxfd = os.pidfd_open(self.box)
        listener.close()
        theirs.close()
        os.close(report_write)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.stop)

    def open_groups(self):
        """Where the groups of runs are made, or None."""
        return cgroup_tree.open_trees(self.options)

    def stop(self, *_):
        self.ended = self.told_to_end = True

    def status(self):
        """Exit status of a box that was ready."""
        return 0

    def listen(self):
        """The socket that runners connect to; it lies outside the box, which only inherits the descriptor."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            os.unlink(self.socket_path)
        except FileNotFoundError:
            pass
        try:
            mask = os.umask(0o177)
            listener.bind(self.socket_path)
        finally:
            os.umask(mask)
        listener.listen(128)
        self.socket_inode = os.stat(self.socket_path).st_ino
        return listener

    def become_launcher(self, listener, requests, report):
        """In the child: builds the box around itself, then waits for its first process. Never returns."""
        try:
            kernel.set_parent_death_signal(signal.SIGKILL)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            environment = environment_of(self.options.python)
            program = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            outer.be_first_when_memory_ends()
            as_root = os.geteuid() == 0
            if self.plain:
                plain.lay_out(environment)
            elif as_root:
                kernel.unshare(kernel.CLONE_NEWNS)
                outer.stage_sources(environment, program)
                outer.give_up_root(self.options.uid)
                kernel.set_parent_death_signal(signal.SIGKILL)
                outer.enter_namespaces()
            else:
                outer.enter_namespaces()
            first = os.fork()
            if first == 0:
                kernel.set_parent_death_signal(signal.SIGKILL)
                if not self.plain:
                    if not as_root:
                        outer.stage_sources(environment, program)
                    outer.build_root()
                outer.seal()
                self.become_init(listener, requests, report)
            # Only the waiting is left: nothing of the box is held here.
            kernel.drop_capabilities()
            os.closerange(3, 4096)
            _, status = os.waitpid(first, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
        except BaseException as error:  # noqa: BLE001 - the child must not return into the keeper's code
            line = json.dumps({'event': 'box-failed', 'reason': f'{type(error).__name__}: {error}'[:1000]}) + '\n'
            os.write(report, line.encode())
            os._exit(1)

    def become_init(self, listener, requests, report):
        """Becomes init.py with an environment built from nothing: nothing of the caller's memory or environment goes in."""
        kept = [os.dup2(os.dup(descriptor), 200 + index) for index, descriptor in enumerate((listener.fileno(), requests.fileno(), report))]
        for index, descriptor in enumerate(kept):
            os.dup2(descriptor, LISTENER + index, inheritable=True)
        null = os.open('/dev/null', os.O_RDWR)
        for descriptor in (0, 1):
            os.dup2(null, descriptor, inheritable=True)
        os.closerange(REPORT + 1, 4096)
        options = {
            'listener': LISTENER, 'keeper': KEEPER_REQUESTS if self.trees else -1, 'report': REPORT, 'slots': self.options.slots,
            'preload': self.options.preload, 'once': self.once, 'plain': self.plain, 'generationRuns': self.options.generation_runs,
            'python': os.path.abspath(self.options.python) if self.plain else '/opt/python/bin/python',
            'fonts': plain.FONTS if self.plain else '/opt/fonts',
        }
        # In its box the program lies at a place of its own.
        first = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'init.py') if self.plain else '/opt/moli/init.py'
        os.chdir('/')
        os.execve('/usr/bin/python3', ['/usr/bin/python3', '-I', '-S', '-B', first, json.dumps(options)], {'LANG': 'C.UTF-8', 'PATH': '/usr/bin:/bin'})

    def wait_until_ready(self):
        """Until the first zygote has its slots."""
        deadline = time.monotonic() + self.ready_seconds
        problem = 'the box ended'
        while not self.ended and time.monotonic() < deadline:
            for event in self.turn(deadline - time.monotonic()):
                if event['event'] == 'zygote-ready':
                    return
                problem = event.get('reason', problem)
                if event['event'] == 'box-failed' and not self.plain and (advised := advice.namespaces_refused(self.once, problem)):
                    raise NamespacesRefused(
                        f'The sandbox could not be started ({problem}): {advised[1]}', f'无法启动沙箱（{problem}）：{advised[0]}', LAYERS[:1])
                if event.get('inARow', 0) >= MAX_FALSE_STARTS:
                    raise Refused(f'The sandbox could not be started: {problem}; see the log.', f'无法启动沙箱：{problem}，详见日志。', LAYERS[:1])
        raise Refused(f'The sandbox could not be started: {problem}', f'无法启动沙箱：{problem}', LAYERS[:1])

    def try_canary(self):
        """The first run. In a thread of its own: its slot's request for a cgroup is answered here meanwhile."""
        with concurrent.futures.ThreadPoolExecutor(1) as executor:
            song = executor.submit(canary.sing, self.socket_path)
            while not song.done() and not self.ended:
                self.turn(0.02)
            if self.ended and not song.done():
                self.kill_box()
            return song.result()

    def keep(self):
        """The rest of the box's life."""
        while not self.ended:
            self.turn(None)

    def turn(self, seconds):
        """Waits for something to happen and deals with it. Returns the events that the box reported."""
        poll = select.poll()
        for descriptor in (self.report, self.boxfd, self.wake, self.groups.requests.fileno(), *self.groups.live):
            poll.register(descriptor, select.POLLIN)
        watches_stdin = not sys.stdin.closed and is_pipe(0)
        if watches_stdin:
            poll.register(0, select.POLLIN)
        events, box_ended = [], False
        if self.groups.dying:
            seconds = min(seconds or 1, 0.02)
        for descriptor, _ in poll.poll(None if seconds is None else max(0, seconds) * 1000):
            if descriptor == self.report:
                events += self.read_reports()
            elif descriptor == self.boxfd:
                self.ended = True
                box_ended = True
            elif descriptor == self.wake:
                os.read(self.wake, 64)
            elif descriptor == 0:
                self.ended = self.ended or not os.read(0, 4096)
            else:
                self.groups.hear(descriptor)
        self.groups.remove_dead()
        if box_ended:
            self.box_ended()
        return events

    def box_ended(self):
        """The box's first process is gone."""
        log('error', 'sandbox ended')

    def hear(self, event):
        """One report from inside."""
        if event['event'] == 'box-sealed':
            self.sealed = event
        log('warn' if event['event'].endswith(('lost', 'failed')) else 'debug', event['event'], **{k: v for k, v in event.items() if k != 'event'})

    def read_reports(self):
        data = os.read(self.report, 1 << 16)
        *lines, self.reports = (self.reports + data).split(b'\n')
        events = [json.loads(line) for line in lines]
        for event in events:
            self.hear(event)
        if not data:
            self.ended = True
        return events

    def kill_box(self):
        """The launcher in between dies, and with it the box's first process and so every process in the box."""
        try:
            if self.box:
                os.kill(self.box, signal.SIGKILL)
                os.waitpid(self.box, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        self.box = None

    def remove_socket(self):
        """Unless another box has put its own in the same place meanwhile."""
        try:
            if self.socket_inode == os.stat(self.socket_path).st_ino:
                os.unlink(self.socket_path)
        except (FileNotFoundError, TypeError):
            pass

    def end(self):
        """Ends the box and takes away what is on the host: socket, cgroups, probe folder."""
        self.kill_box()
        if self.trees:
            self.groups.close()
            self.trees.remove()
        self.remove_socket()
        if self.probe_folder:
            shutil.rmtree(self.probe_folder, ignore_errors=True)


def environment_of(python):
    """Folder of the environment that an interpreter belongs to."""
    return os.path.dirname(os.path.dirname(os.path.abspath(python)))


def is_pipe(descriptor):
    """A pipe or socket: its closing says that the parent is gone. A terminal or /dev/null says nothing."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
