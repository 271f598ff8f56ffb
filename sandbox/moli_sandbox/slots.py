"""The pool of one zygote: forks single-use programs, gives each to a monitor, replaces the used ones, backs off when they fail."""
import json
import math
import os
import select
import signal
import socket
import time

from . import monitor, program
from . import syscalls as kernel
from .channel import NONCE_BYTES
from .report import report

# Waits after a slot that failed: doubling from the first to the last, in seconds. A good slot resets it.
FIRST_BACKOFF, LAST_BACKOFF = 0.05, 5.0
# One slot beyond the asked-for concurrency: the next run does not wait for a fork.
SPARE_SLOTS = 1


class Pool:
    """
    Slots of one zygote. `nursery` is the socket to the process that forks monitors, `monitors` the one that all of these read from; `make_walls`
    gives the Isolation of a run; `once`: the first slots are the only ones; `plain`: without namespaces.
    """

    def __init__(self, nursery, monitors, retire, keeper, count, make_walls, once=False, plain=False):
        self.nursery = nursery
        self.monitors = monitors
        self.retire = retire
        self.keeper = keeper
        self.count = count + SPARE_SLOTS
        # Slots that may still be made.
        self.left = self.count if once else math.inf
        self.make_walls = make_walls
        self.plain = plain
        self.image_bytes = 0
        # Runs after which the zygote asks to be replaced, so that hash seed and address layout change.
        self.generation_runs = math.inf
        # Process id of a program (as the zygote's namespace counts) to the pipe on which its monitor learns how it ended.
        self.programs = {}
        # Programs that a monitor has, or will take next: these are the slots.
        self.monitored = set()
        self.served = 0
        self.failed = 0
        self.retry_at = 0.0
        self.own_pids = os.open('/proc/self/ns/pid', os.O_RDONLY | os.O_CLOEXEC)

    def serve(self):
        """Until the retire pipe closes, or no slot may be made any more, and the last run has ended."""
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(wake_read, select.POLLIN)
        poll.register(self.retire, 0)
        poll.register(self.nursery, select.POLLIN)
        poll.register(self.monitors, select.POLLIN)
        retiring = False
        self.fill()
        report('zygote-ready', pid=os.getpid(), imageBytes=self.image_bytes)
        while self.monitored or self.left and not retiring:
            for descriptor, _ in poll.poll(self._wait_ms(retiring)):
                if descriptor == self.retire:
                    retiring = True
                    poll.unregister(self.retire)
                elif descriptor == wake_read:
                    os.read(wake_read, 4096)
                elif not self.hear(self.monitors if descriptor == self.monitors.fileno() else self.nursery):
                    # Without a nursery there are no monitors: this zygote is of no use any more.
                    return
            self.reap()
            if not retiring:
                self.fill()
        report('zygote-spent', pid=os.getpid(), served=self.served)

    def _wait_ms(self, retiring):
        if retiring or not self.left or len(self.monitored) >= self.count:
            return None
        return max(1, int((self.retry_at - time.monotonic()) * 1000))

    def fill(self):
        """Makes slots up to the count, unless a failure asks to wait."""
        while self.left and len(self.monitored) < self.count and time.monotonic() >= self.retry_at:
            self.make_slot()
            self.left -= 1

    def make_slot(self):
        """Forks a program into a pid namespace of its own and hands its other ends to the next free monitor."""
        control, child_control = socket.socketpair()
        results, child_results = socket.socketpair()
        stdout, child_stdout = os.pipe()
        stderr, child_stderr = os.pipe()
        status, status_write = os.pipe()
        keeper, child_keeper = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        nonce = os.urandom(NONCE_BYTES)
        if not self.plain:
            kernel.unshare(kernel.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            pipes = {'control': child_control.fileno(), 'stdout': child_stdout, 'stderr': child_stderr, 'results': child_results.fileno()}
            program.wait_for_job(pipes, nonce, self.keeper, child_keeper, self.make_walls())
        # The next unshare begins from the zygote's own namespace again.
        if not self.plain:
            kernel.enter_namespace(self.own_pids, kernel.CLONE_NEWPID)
        process = os.pidfd_open(pid)
        handed = [process, control.fileno(), stdout, stderr, results.fileno(), status, keeper.fileno()]
        socket.send_fds(self.monitors, [json.dumps({'pid': pid, 'nonce': nonce.hex(), 'imageBytes': self.image_bytes}).encode()], handed)
        for end in (control, child_control, results, child_results, keeper, child_keeper):
            end.close()
        for descriptor in (process, stdout, child_stdout, stderr, child_stderr, status):
            os.close(descriptor)
        self.programs[pid] = status_write
        self.monitored.add(pid)

    def hear(self, teller):
        """A monitor is done with its program, or died: the slot ends. False when the nursery is gone."""
        data = teller.recv(4096)
        if not data:
            return False
        ended = json.loads(data)
        self.monitored.discard(ended['pid'])
        if ended['pid'] in self.programs:
            # Whatever became of the monitor, its program does not outlive it.
            os.kill(ended['pid'], signal.SIGKILL)
        self.count_slot(ended['code'])
        return True

    def count_slot(self, code):
        """Takes note of how a slot went."""
        if code == monitor.SLOT_SERVED:
            self.served += 1
            self.failed = 0
            if self.served == self.generation_runs:
                report('zygote-worn', pid=os.getpid())
            elif self.served == 1:
                report('zygote-used', pid=os.getpid())
        elif code != monitor.SLOT_UNUSED:
            self.failed += 1
            self.retry_at = time.monotonic() + min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** min(self.failed, 20))
            report('slot-lost', code=code, inARow=self.failed)

    def reap(self):
        """Tells monitors how their programs ended."""
        while self.programs:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            pipe = self.programs.pop(pid, None)
            if pipe is None:
                continue
            told = {'code': os.waitstatus_to_exitcode(status), 'cpu': usage.ru_utime + usage.ru_stime}
            try:
                os.write(pipe, json.dumps(told).encode())
            except OSError:
                # The monitor is gone already.
                pass
            os.close(pipe)
