"""A cgroup for each run, where the machine lets us make one (v1 and v2).

The trees stay with the launcher, outside the box: it makes a group, moves the run's process into it and hands the monitor descriptors of the few
files it needs. Nothing inside the box can write to the tree. The process is known by the credentials that the kernel puts on its message.
"""
import array
import json
import os
import socket

# Order in which the descriptors of a group travel.
FILES_V2 = {'memoryLimit': 'memory.max', 'memoryNow': 'memory.current', 'memoryPeak': 'memory.peak', 'memoryEvents': 'memory.events', 'pidsLimit': 'pids.max', 'pidsEvents': 'pids.events'}
FILES_V1 = {
    'memoryLimit': ('memory', 'memory.limit_in_bytes'),
    'memoryNow': ('memory', 'memory.usage_in_bytes'),
    'memoryPeak': ('memory', 'memory.max_usage_in_bytes'),
    'memoryEvents': ('memory', 'memory.oom_control'),
    'pidsLimit': ('pids', 'pids.max'),
    'pidsEvents': ('pids', 'pids.events'),
}
WRITTEN = {'memoryLimit', 'pidsLimit'}


class RunGroup:
    """The monitor's view of its run's group: descriptors only."""

    def __init__(self, descriptors):
        self.descriptors = descriptors

    def close(self):
        """The run is over: the launcher learns of it by the closing of `reply`, which is the slot's."""
        for descriptor in self.descriptors.values():
            os.close(descriptor)

    def limit(self, memory_bytes, pids):
        """Fixes the limits; called once, before user code."""
        for name, value in (('memoryLimit', memory_bytes), ('pidsLimit', pids)):
            if name in self.descriptors:
                os.pwrite(self.descriptors[name], str(value).encode(), 0)

    def _read(self, name):
        if name not in self.descriptors:
            return b''
        try:
            return os.pread(self.descriptors[name], 4096, 0)
        except OSError:
            return b''

    def _number(self, name):
        text = self._read(name).strip()
        return int(text) if text.isdigit() else 0

    def _event(self, name, key):
        for line in self._read(name).splitlines():
            word, _, value = line.partition(b' ')
            if word == key and value.isdigit():
                return int(value)
        return 0

    def memory_bytes(self):
        return self._number('memoryNow')

    def peak_bytes(self):
        return self._number('memoryPeak')

    def out_of_memory(self):
        """The kernel ended a process of the run for memory."""
        return self._event('memoryEvents', b'oom_kill') > 0

    def pids_refused(self):
        """The run asked for more threads than its limit."""
        return self._event('pidsEvents', b'max') > 0


def receive_group(reply):
    """The answer of the launcher to a request for a group: a RunGroup, or None where there are no cgroups."""
    data, ancillary, _, _ = reply.recvmsg(4096, socket.CMSG_SPACE(16 * 4))
    descriptors = array.array('i')
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(payload[: len(payload) // 4 * 4])
    names = json.loads(data or b'[]')
    return RunGroup(dict(zip(names, descriptors))) if names else None
