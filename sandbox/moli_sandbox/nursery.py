"""Where monitors come from: a small process beside the zygote that imports nothing of what user code wants.

A monitor needs no pandas. Forked from here it costs a tenth of what a second copy of the zygote would, in time and in memory.
"""
import array
import gc
import json
import mmap
import os
import resource
import select
import signal
import socket
import struct
import sys

from . import monitor
from . import syscalls as kernel
from .report import report
from .slot import HANDED, Slot

MESSAGE_BYTES = 4096
# Process id of the program that a monitor looks after, as the zygote counts; 0 when it has none. Shared with the nursery.
PROGRAM = struct.Struct('q')
# A monitor that grew by more than this in one run makes room for a fresh one, in KiB.
MAX_GROWTH_KIB = 8 << 10


class Nursery:
    """Keeps `count` monitors. Each takes the next program that the zygote announces on `programs`; what became of it goes back the same way.

    `zygote` is the socket on which the nursery tells the zygote of monitors that died with a program; its closing says that the zygote is gone.
    """

    def __init__(self, zygote, programs, listener, retire, keeper_wanted, count):
        self.zygote = zygote
        self.programs = programs
        self.listener = listener
        self.retire = retire
        self.keeper_wanted = keeper_wanted
        self.count = count
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
            while attached and len(self.monitors) < self.count:
                self.make_monitor()
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake_read in ready:
                os.read(wake_read, 4096)
            if attached and self.zygote.fileno() in ready:
                # The zygote never speaks here.
                attached = False
                poll.unregister(self.zygote)
            self.reap(attached)

    def make_monitor(self):
        held = mmap.mmap(-1, PROGRAM.size)
        pid = os.fork()
        if pid == 0:
            self.become_monitor(held)
        self.monitors[pid] = held

    def become_monitor(self, held):
        """In the child; never returns."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.zygote.close()
        gc.enable()
        # Inherited from nobody and needed for nothing: a monitor has no privilege.
        kernel.drop_bounding_set()
        kernel.drop_capabilities()
        try:
            while self.look_after_one(held):
                pass
        finally:
            sys.stderr.flush()
            os._exit(0)

    def look_after_one(self, held):
        """One program from its announcement to its end. False when this monitor should not take another."""
        taken = self.take()
        if taken is None:
            return False
        announced, descriptors = taken
        held[:] = PROGRAM.pack(announced['pid'])
        size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        regular = False
        try:
            status, regular = monitor.serve_one_run(Slot(self.listener, self.retire, announced, descriptors, self.keeper_wanted))
        except BaseException as error:  # noqa: BLE001 - whatever it was, the slot ends here and the pool must learn of it
            report('slot-failed', reason=f'{type(error).__name__}: {error}'[:500])
            status = monitor.SLOT_FAILED
        self.tell(self.programs, announced['pid'], status)
        held[:] = PROGRAM.pack(0)
        return regular and resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - size <= MAX_GROWTH_KIB

    def take(self):
        """Waits for a program: (what was announced, descriptors by name); None when the zygote is gone."""
        data, ancillary, _, _ = self.programs.recvmsg(MESSAGE_BYTES, socket.CMSG_SPACE(len(HANDED) * 4))
        if not data:
            return None
        descriptors = array.array('i')
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) // 4 * 4])
        return json.loads(data), dict(zip(HANDED, descriptors))

    def reap(self, attached):
        """Tells the zygote of programs whose monitor died."""
        while self.monitors:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            held = self.monitors.pop(pid)
            program, = PROGRAM.unpack(held[:])
            held.close()
            if attached and program:
                self.tell(self.zygote, program, os.waitstatus_to_exitcode(status) or monitor.SLOT_FAILED)

    def tell(self, zygote, program, code):
        try:
            zygote.send(json.dumps({'pid': program, 'code': code}).encode())
        except OSError:
            # It is gone, and its programs with it.
            pass
