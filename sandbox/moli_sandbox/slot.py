"""A slot while it waits: the child behind its walls, the pipes to it, its cgroup. Single use."""
import array
import json
import os
import select
import socket
import struct

from . import cgroup, isolation, program
from . import syscalls as kernel
from .channel import NONCE_BYTES

# A child that has not set itself up after this many seconds will not.
SET_UP_SECONDS = 10.0
LENGTH = struct.Struct('<I')


class SlotError(Exception):
    """The slot can't be used."""


class Slot:
    """Makes the child of one run. After `prepare`: pid, pidfd, control, stdout, stderr, results, layers, group."""

    def __init__(self, listener, retire, keeper, filter_code, namespaces):
        self.listener = listener
        self.retire = retire
        self.keeper = keeper
        self.filter_code = filter_code
        self.namespaces = namespaces
        self.group = None
        self.nonce = os.urandom(NONCE_BYTES)

    def prepare(self):
        self.control, child_control = socket.socketpair()
        self.stdout, child_stdout = os.pipe()
        self.stderr, child_stderr = os.pipe()
        self.results, child_results = socket.socketpair()
        keeper_ours, keeper_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) if self.keeper else (None, None)
        if self.namespaces:
            isolation.new_user_and_pid_namespace()
        self.pid = os.fork()
        if self.pid == 0:
            descriptors = {'control': child_control.fileno(), 'stdout': child_stdout, 'stderr': child_stderr, 'results': child_results.fileno(), 'nonce': self.nonce}
            # Never returns.
            program.wait_for_job(descriptors, self.keeper, keeper_theirs, isolation.Isolation(self.filter_code, self.namespaces))
        self.pidfd = os.pidfd_open(self.pid)
        kernel.drop_bounding_set()
        kernel.drop_capabilities()
        for descriptor in (child_stdout, child_stderr):
            os.close(descriptor)
        child_control.close()
        child_results.close()
        if keeper_theirs:
            keeper_theirs.close()
        for descriptor in (self.stdout, self.stderr, self.results.fileno()):
            os.set_blocking(descriptor, False)
        self._wait_until_ready(keeper_ours)

    def _wait_until_ready(self, keeper):
        self.control.settimeout(SET_UP_SECONDS)
        answer = json.loads(self.receive() or b'{"failed": "the child ended while it was set up"}')
        if 'failed' in answer:
            raise SlotError(answer['failed'])
        self.layers = answer['layers']
        if keeper is not None:
            keeper.settimeout(SET_UP_SECONDS)
            self.group = cgroup.receive_group(keeper)
            if self.group:
                self.layers.append('cgroup')

    @property
    def strength(self):
        return '+'.join(self.layers)

    def wait_for_connection(self):
        """The connection of a runner, or None when the zygote retires or the child died."""
        poll = select.epoll()
        # Exclusive: one idle slot wakes for a connection, not all of them.
        poll.register(self.listener, select.EPOLLIN | select.EPOLLEXCLUSIVE)
        poll.register(self.retire, 0)
        poll.register(self.pidfd, select.EPOLLIN)
        self.listener.setblocking(False)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if self.pidfd in ready:
                raise SlotError('the child died while it waited')
            if self.listener.fileno() in ready:
                try:
                    connection, _ = self.listener.accept()
                except BlockingIOError:
                    continue
                poll.close()
                self.listener.close()
                connection.setblocking(True)
                return connection
            if self.retire in ready:
                return None

    def send(self, data):
        """One message to the child: length and bytes."""
        self.control.sendall(LENGTH.pack(len(data)))
        self.control.sendall(data)

    def receive(self):
        """One message of the child; empty when it is gone."""
        head = self.control.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(head) < LENGTH.size:
            return b''
        return self.control.recv(min(LENGTH.unpack(head)[0], 65536), socket.MSG_WAITALL)

    def receive_folders(self):
        """Descriptors of the private folders, sent by the child before user code; or None with the child's complaint in a message."""
        data, ancillary, _, _ = self.control.recvmsg(1, socket.CMSG_SPACE(4 * 8))
        descriptors = array.array('i')
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) // 4 * 4])
        if data != b'F' or not descriptors:
            return None
        return list(descriptors)

    def kill(self):
        """Ends everything in the run's pid namespace."""
        try:
            os.kill(self.pid, 9)
        except ProcessLookupError:
            pass

    def reap(self):
        """Waits for the child: (exit status as of waitstatus_to_exitcode, its resource usage)."""
        _, status, usage = os.wait4(self.pid, 0)
        return os.waitstatus_to_exitcode(status), usage
