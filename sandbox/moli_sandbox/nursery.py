"""Where monitors come from: a small process beside the zygote that imports nothing of what user code wants.

A monitor needs no pandas. Forked from here it costs a tenth of what a second copy of the zygote would, in time and in memory.
"""
import array
import json
import os
import select
import signal
import socket
import sys

from . import monitor
from .report import report
from .slot import HANDED, Slot

MESSAGE_BYTES = 4096


class Nursery:
    """Forks a monitor for each program that the zygote announces; tells the zygote how each monitor ended."""

    def __init__(self, zygote, listener, retire, keeper_wanted):
        self.zygote = zygote
        self.listener = listener
        self.retire = retire
        self.keeper_wanted = keeper_wanted
        self.monitors = {}

    def serve(self):
        """Until the zygote is gone and the last monitor has ended."""
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll = select.poll()
        poll.register(wake_read, select.POLLIN)
        poll.register(self.zygote, select.POLLIN)
        attached = True
        while attached or self.monitors:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake_read in ready:
                os.read(wake_read, 4096)
            self.reap(attached)
            if attached and self.zygote.fileno() in ready and not self.take():
                attached = False
                poll.unregister(self.zygote)

    def take(self):
        """A program was forked: forks its monitor. False when the zygote is gone."""
        data, ancillary, _, _ = self.zygote.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(len(HANDED) * 4))
        if not data:
            return False
        descriptors = array.array('i')
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) // 4 * 4])
        announced = json.loads(data)
        pid = os.fork()
        if pid == 0:
            self.become_monitor(announced, dict(zip(HANDED, descriptors)))
        self.monitors[pid] = announced['pid']
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def become_monitor(self, announced, descriptors):
        """In the child; never returns."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.zygote.close()
        try:
            status = monitor.serve_one_run(Slot(self.listener, self.retire, announced, descriptors, self.keeper_wanted))
        except BaseException as error:  # noqa: BLE001 - whatever it was, the slot ends here and the pool must learn of it
            report('slot-failed', reason=f'{type(error).__name__}: {error}'[:500])
            status = monitor.SLOT_FAILED
        sys.stderr.flush()
        os._exit(status)

    def reap(self, attached):
        """Tells the zygote of monitors that ended."""
        while self.monitors:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            program = self.monitors.pop(pid)
            if attached:
                try:
                    self.zygote.send(json.dumps({'pid': program, 'code': os.waitstatus_to_exitcode(status)}).encode())
                except OSError:
                    pass
