"""A slot as its monitor holds it: the ends of the pipes to one program, its process, its cgroup. Single use."""
import array
import json
import os
import select
import signal
import socket
import struct

from . import cgroup

# Order in which the zygote hands the descriptors over.
HANDED = ('process', 'control', 'stdout', 'stderr', 'results', 'status', 'keeper')
# A program that has not set itself up after this many seconds will not.
SET_UP_SECONDS = 20.0
# Longest wait for the death of a program that was killed.
DEATH_SECONDS = 10.0
LENGTH = struct.Struct('<I')


class SlotError(Exception):
    """The slot can't be used."""


def process_id(pidfd):
    """Id that /proc knows a process by, whichever namespace it was made in; 0 when it is gone or /proc is not there."""
    try:
        with open(f'/proc/self/fdinfo/{pidfd}', encoding='ascii') as file:
            return max(0, next(int(line.split()[1]) for line in file if line.startswith('Pid:')))
    except (OSError, StopIteration):
        return 0


def own_process_id(pidfd):
    """
    Id that this process's own pid namespace knows a process by; 0 when it is gone. In a container /proc may be the container's, whose ids are
    those of a namespace further out; clocks of processes take the near one.
    """
    try:
        with open('/proc/self/status', encoding='ascii') as status, open(f'/proc/self/fdinfo/{pidfd}', encoding='ascii') as info:
            ours, theirs = (next(line.split()[1:] for line in file if line.startswith('NSpid:')) for file in (status, info))
        return int(theirs[len(ours) - 1])
    except (OSError, StopIteration, IndexError):
        return 0


class Slot:
    """`announced` is { nonce, imageBytes }; `descriptors` by the names in HANDED. After `prepare` also: pid, own_pid, layers, group."""

    def __init__(self, listener, retire, announced, descriptors, keeper_wanted):
        self.listener = listener
        self.retire = retire
        self.nonce = bytes.fromhex(announced['nonce'])
        self.image_bytes = announced['imageBytes']
        self.control = socket.socket(fileno=descriptors['control'])
        self.results = socket.socket(fileno=descriptors['results'])
        self.stdout, self.stderr, self.status = descriptors['stdout'], descriptors['stderr'], descriptors['status']
        self.keeper = socket.socket(fileno=descriptors['keeper'])
        self.keeper_wanted = keeper_wanted
        self.pidfd = descriptors['process']
        self.pid = self.own_pid = 0
        self.group = None
        self.folders = []
        self.layers = []

    def prepare(self):
        """Waits until the program has set itself up."""
        self.pid, self.own_pid = process_id(self.pidfd), own_process_id(self.pidfd)
        for descriptor in (self.stdout, self.stderr, self.results.fileno()):
            os.set_blocking(descriptor, False)
        self.control.settimeout(SET_UP_SECONDS)
        answer = json.loads(self.receive() or b'{"failed": "the program ended while it was set up"}')
        if 'failed' in answer:
            raise SlotError(answer['failed'])
        self.layers = answer['layers']
        if self.keeper_wanted:
            self.keeper.settimeout(SET_UP_SECONDS)
            self.group = cgroup.receive_group(self.keeper)
            if self.group:
                self.layers.append('cgroup')

    @property
    def strength(self):
        return '+'.join(self.layers)

    def wait_for_connection(self):
        """The connection of a runner, or None when the zygote retires or the program died with it."""
        poll = select.epoll()
        # Exclusive: one idle slot wakes for a connection, not all of them.
        poll.register(self.listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        poll.register(self.retire, 0)
        poll.register(self.pidfd, select.EPOLLIN)
        self.listener.setblocking(False)
        try:
            return self._accept(poll)
        finally:
            poll.close()

    def _accept(self, poll):
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.pidfd in ready:
                raise SlotError('the program died while it waited')
            if self.listener.fileno() in ready:
                try:
                    connection, _ = self.listener.accept()
                except BlockingIOError:
                    continue
                connection.setblocking(True)
                return connection
            if self.retire in ready:
                return None

    def send(self, data):
        """One message to the program: length and bytes."""
        self.control.sendall(LENGTH.pack(len(data)))
        self.control.sendall(data)

    def receive(self):
        """One message of the program; empty when it is gone."""
        head = self.control.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(head) < LENGTH.size:
            return b''
        return self.control.recv(min(LENGTH.unpack(head)[0], 65536), socket.MSG_WAITALL)

    def receive_folders(self):
        """Descriptors of the private folders, sent by the program before user code; None when it sent a complaint instead."""
        data, ancillary, _, _ = self.control.recvmsg(1, socket.CMSG_SPACE(4 * 8))
        descriptors = array.array('i')
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) // 4 * 4])
        self.folders = list(descriptors)
        return self.folders if data == b'F' and self.folders else None

    def kill(self):
        """Ends everything in the run's pid namespace."""
        try:
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def close(self):
        """Lets go of everything that belongs to this run."""
        for end in (self.control, self.results, self.keeper):
            end.close()
        for descriptor in (self.stdout, self.stderr, self.status, self.pidfd, *self.folders):
            os.close(descriptor)
        if self.group:
            self.group.close()

    def wait_for_death(self):
        """(exit status as of waitstatus_to_exitcode, CPU seconds), told by the zygote; (None, None) when the zygote is gone."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        poll.poll(DEATH_SECONDS * 1000)
        poll = select.poll()
        poll.register(self.status, select.POLLIN)
        told = os.read(self.status, 4096) if poll.poll(DEATH_SECONDS * 1000) else b''
        if not told:
            return None, None
        ended = json.loads(told)
        return ended['code'], ended['cpu']
