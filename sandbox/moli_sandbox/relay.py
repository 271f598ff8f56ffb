"""Relays one running program to its runner: output with caps, displays, deadline, memory watch, cancel, back-pressure."""
import json
import os
import select
import socket
import time

from . import claims, wire
from .channel import ResultReader
from .outputs import Output
from .usage import Usage
from .verdict import describe_end

# Between two looks at memory and CPU time, in seconds.
TICK = 0.025
READ_BYTES = 1 << 16
# Bytes waiting for a slow runner; above this the program is not read from, so it waits too.
MAX_PENDING = 1 << 18
MAX_DISPLAYS = 100
# Longest that a program that has said its last word is read on for what lies in its pipes, in seconds.
DRAIN_SECONDS = 1.0
# Reads that empty a pipe: its capacity is one piece (64 KiB), and a full one may come in two.
PIPE_PIECES = 2


class Gone(Exception):
    """The runner closed the connection or cancelled before the program began."""


class Relay:
    """Follows a program until it ends or is ended. Afterwards: `result` (what the program said of itself, or None) and `reason` (why it was ended)."""

    def __init__(self, slot, connection, reader, job, folders):
        self.slot = slot
        self.connection = connection
        self.reader = reader
        self.limits = job['limits']
        self.stdout = Output('O', self.limits['outputBytes'])
        self.stderr = Output('E', self.limits['outputBytes'])
        input_bytes = sum((file['bytes'] + 4095) // 4096 * 4096 for file in job['files'])
        self.usage = Usage((slot.pid, slot.own_pid), folders, slot.group, input_bytes, slot.image_bytes)
        # Without namespaces the kernel holds neither the folders nor the threads to the job's limits.
        self.plain = 'userns' not in slot.layers
        if self.plain:
            self.usage.start_disk()
        self.channel = ResultReader(slot.nonce)
        self.pending = bytearray()
        self.skipped = []
        self.displays = 0
        self.display_bytes = 0
        self.result = None
        self.reason = None
        self.ended = False
        # A message came that the sender of this sandbox does not make: somebody else speaks.
        self.foreign = False
        connection.setblocking(False)

    def send(self, data):
        """Queues bytes for the runner and sends what it takes now."""
        self.pending += data
        while self.pending:
            try:
                sent = self.connection.send(memoryview(self.pending)[:READ_BYTES])
            except BlockingIOError:
                return
            except OSError as error:
                raise Gone from error
            del self.pending[:sent]

    def flush(self, seconds):
        """Waits until the runner has taken everything."""
        if not self.pending:
            # It may have gone already, with all that it wanted.
            return
        self.connection.settimeout(seconds)
        try:
            self.connection.sendall(self.pending)
        except OSError as error:
            raise Gone from error
        finally:
            self.pending.clear()

    def follow(self):
        """Until the program has ended, said its result, or has to be ended. Afterwards its output is complete."""
        poll = select.poll()
        sources = {self.slot.stdout: self.stdout, self.slot.stderr: self.stderr, self.slot.results.fileno(): None}
        for descriptor in (*sources, self.slot.pidfd):
            poll.register(descriptor, select.POLLIN)
        connection = self.connection.fileno()
        # Both clocks start here: a program that computes all the time reaches the wall limit first when both are equal.
        self.usage.start_cpu()
        deadline = time.monotonic() + self.limits['wallSeconds']
        paused = False
        while self.result is None and self.reason is None and not self.ended:
            poll.register(connection, select.POLLIN | (select.POLLOUT if self.pending else 0))
            if paused != (len(self.pending) > MAX_PENDING):
                paused = not paused
                for descriptor in sources:
                    poll.register(descriptor, 0 if paused else select.POLLIN)
            left = deadline - time.monotonic()
            for descriptor, events in poll.poll(max(0, min(TICK, left)) * 1000):
                if descriptor == connection:
                    self.hear_runner(events)
                elif descriptor == self.slot.pidfd:
                    self.ended = True
                elif descriptor in sources and not self.read_source(descriptor, sources[descriptor]):
                    poll.unregister(descriptor)
                    del sources[descriptor]
            self.watch(deadline - time.monotonic())
        if self.reason:
            self.slot.kill()
        self.drain(sources)
        self.usage.sample()

    def hear_runner(self, events):
        if events & select.POLLIN:
            try:
                data = self.connection.recv(4096)
            except BlockingIOError:
                return
            except OSError as error:
                raise Gone from error
            if not data:
                raise Gone
            self.reader.feed(data)
            while frame := self.reader.take():
                if frame[0] == 'C':
                    self.reason = 'cancelled'
        elif events & (select.POLLHUP | select.POLLERR):
            raise Gone
        if events & select.POLLOUT:
            self.send(b'')

    def read_source(self, descriptor, output):
        """Reads a piece; False when the stream has ended."""
        try:
            data = os.read(descriptor, READ_BYTES)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        if not data:
            return False
        if output is not None:
            self.send(output.take(data))
            if output.flooded:
                self.reason = self.reason or 'output_limit'
        else:
            for message in self.channel.feed(data):
                self.take_message(*message)
            if self.channel.broken:
                # Nobody will answer on it any more, so nobody may wait for an answer; and reading on would make the monitor work for a flood.
                self.slot.results.shutdown(socket.SHUT_RDWR)
                return False
        return True

    def take_message(self, kind, text, data):
        """A message of the program: hostile, checked field by field."""
        if self.result is not None:
            return
        if kind == 'P':
            # What was printed before the display comes before it.
            self.drain_now(self.slot.stdout, self.stdout)
            self.drain_now(self.slot.stderr, self.stderr)
            self.show(text, data)
            self.acknowledge()
        elif kind == 'R':
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                value = None
            self.foreign = self.foreign or not isinstance(value, dict)
            self.result = value if isinstance(value, dict) else {}

    def acknowledge(self):
        """Lets the program go on after a display."""
        try:
            self.slot.results.send(b'.')
        except OSError:
            pass

    def show(self, text, data):
        """A display: JSON, and the bytes of a picture or page if it has one."""
        self.displays += 1
        self.display_bytes += len(text) + len(data)
        if self.displays > MAX_DISPLAYS or self.display_bytes > self.limits['displayBytes']:
            if not any(item['name'] == 'display' for item in self.skipped):
                cap = f'more than {MAX_DISPLAYS}' if self.displays > MAX_DISPLAYS else f'more than {self.limits["displayBytes"]} bytes'
                self.skipped.append({'name': 'display', 'reason': f'{cap} shown by one run'})
            return
        try:
            claimed = json.loads(text)
            clean = claims.clean_display(claimed)
            self.foreign = self.foreign or clean != claimed
            if clean is None:
                return
            if data:
                clean['bytes'] = len(data)
            frames = wire.json_frame('P', clean)
            if len(frames) > wire.MAX_PAYLOAD:
                return
        except (ValueError, RecursionError):
            self.foreign = True
            return
        self.send(frames)
        for start in range(0, len(data), wire.MAX_PAYLOAD):
            self.send(wire.frame('Q', data[start:start + wire.MAX_PAYLOAD]))

    def watch(self, seconds_left):
        """Compares what was taken with the limits."""
        if self.reason or self.result is not None:
            return
        memory, cpu = self.usage.sample()
        if seconds_left <= 0:
            self.reason = 'timeout_wall'
        elif cpu > self.limits['cpuSeconds']:
            self.reason = 'timeout_cpu'
        elif memory > self.limits['memoryBytes']:
            self.reason = 'memory_limit'
        elif self.plain and self.usage.threads > self.limits['pids']:
            self.reason = 'pids_limit'
        elif self.plain and self.usage.disk_bytes() > self.limits['diskBytes']:
            self.reason = 'disk_limit'

    def drain_now(self, descriptor, output):
        """Reads what a pipe holds at this moment, up to its capacity."""
        for _ in range(PIPE_PIECES):
            try:
                data = os.read(descriptor, READ_BYTES)
            except (BlockingIOError, OSError):
                return
            if not data:
                return
            self.send(output.take(data))

    def drain(self, sources):
        """Takes the rest from the pipes. A program that still writes (a thread) is not waited for."""
        until = time.monotonic() + DRAIN_SECONDS
        for descriptor, output in sources.items():
            # What was written before the last word fits into the pipe; what comes on top is from threads that go on.
            pieces = PIPE_PIECES if self.result is not None else 1 << 30
            while pieces and time.monotonic() < until and self._more(descriptor, output):
                pieces -= 1
        for output in (self.stdout, self.stderr):
            self.send(output.finish())

    def _more(self, descriptor, output):
        before = (self.stdout.total, self.stderr.total, self.channel.total)
        return self.read_source(descriptor, output) and before != (self.stdout.total, self.stderr.total, self.channel.total)

    @property
    def by_the_book(self):
        """The program told its end, no limit was reached, and nothing was said but what the sandbox's own sender says."""
        return self.result is not None and self.reason is None and not self.channel.broken and not self.foreign

    def judge(self, code, cpu):
        """The verdict with its fields, once the program is dead or has said its result."""
        self.usage.settle(cpu)
        return describe_end(self.reason, code if self.result is None else None, self.result, self)

    def shown_as(self, name):
        """Says of a saved chart that was shown already under which name, so that it is seen once."""
        saved = (self.result or {}).get('saved')
        shown = saved.get(name) if isinstance(saved, dict) else None
        return {'shownAs': shown[:100]} if isinstance(shown, str) else {}
