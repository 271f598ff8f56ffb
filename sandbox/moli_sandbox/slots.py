"""The pool of one zygote: forks single-use slots, replaces the used ones, backs off when they fail, and leaves when told to."""
import gc
import os
import select
import signal
import sys
import time

from . import monitor
from .report import report

# Waits after a slot that failed: doubling from the first to the last, in seconds. A good slot resets it.
FIRST_BACKOFF, LAST_BACKOFF = 0.05, 5.0
# Runs after which a zygote asks to be replaced, so that hash seed and address layout change.
RUNS_PER_GENERATION = 200
# One slot beyond the asked-for concurrency: the next run does not wait for a fork.
SPARE_SLOTS = 1


class Pool:
    """Slots of one zygote. `listener` is shared by all: the kernel hands a connection to one idle slot."""

    def __init__(self, listener, retire, keeper, count, filter_code, namespaces):
        self.listener = listener
        self.retire = retire
        self.keeper = keeper
        self.count = count + SPARE_SLOTS
        self.filter_code = filter_code
        self.namespaces = namespaces
        self.alive = set()
        self.served = 0
        self.failed = 0
        self.retry_at = 0.0

    def serve(self):
        """Until the retire pipe closes and the last run has ended."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(wake_read, select.POLLIN)
        poll.register(self.retire, 0)
        retiring = False
        self.fill()
        report('zygote-ready', pid=os.getpid())
        while not retiring or self.alive:
            for descriptor, _ in poll.poll(self._wait_ms(retiring)):
                if descriptor == self.retire:
                    retiring = True
                    poll.unregister(self.retire)
            try:
                os.read(wake_read, 4096)
            except BlockingIOError:
                pass
            self.reap()
            if not retiring:
                self.fill()

    def _wait_ms(self, retiring):
        if retiring or len(self.alive) >= self.count:
            return None
        return max(1, int((self.retry_at - time.monotonic()) * 1000))

    def fill(self):
        """Forks slots up to the count, unless a failure asks to wait."""
        while len(self.alive) < self.count and time.monotonic() >= self.retry_at:
            pid = os.fork()
            if pid == 0:
                self._become_slot()
            self.alive.add(pid)

    def _become_slot(self):
        gc.disable()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            status = monitor.serve_one_run(self.listener, self.retire, self.keeper, self.filter_code, self.namespaces)
        except BaseException as error:  # noqa: BLE001 - whatever it was, the slot ends here and the pool must learn of it
            report('slot-failed', reason=f'{type(error).__name__}: {error}'[:500])
            status = monitor.SLOT_FAILED
        sys.stderr.flush()
        os._exit(status)

    def reap(self):
        """Takes note of the slots that ended."""
        while self.alive:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self.alive.discard(pid)
            code = os.waitstatus_to_exitcode(status)
            if code == monitor.SLOT_SERVED:
                self.served += 1
                self.failed = 0
                if self.served == RUNS_PER_GENERATION:
                    report('zygote-worn', pid=os.getpid())
                elif self.served == 1:
                    report('zygote-used', pid=os.getpid())
            elif code != monitor.SLOT_UNUSED:
                self.failed += 1
                self.retry_at = time.monotonic() + min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** min(self.failed, 20))
                report('slot-lost', code=code, inARow=self.failed)
