"""What a run has taken so far: memory, CPU time, disk. Read by the monitor every few milliseconds."""
import os
import time

PAGE = os.sysconf('SC_PAGESIZE')


class Usage:
    """
    Watches one process; `pids` are its ids as /proc counts and as this process's own pid namespace does. `memory_peak` in bytes, `cpu_ms` in
    milliseconds; `group` (cgroup) is asked when there is one.
    """

    def __init__(self, pids, folders, group, input_bytes, image_bytes):
        self.pid, own_pid = pids
        # Clock id of another process's CPU time: see CPUCLOCK_SCHED in the kernel's posix-timers.
        # Without an id, a clock that no process has: the account at the end still counts.
        self.clock = (~own_pid << 3) | 2 if own_pid else -1
        self.folders = folders
        self.group = group
        self.input_bytes = input_bytes
        self.image_bytes = image_bytes
        self.memory_peak = 0
        self.cpu_ms = 0.0
        self.cpu_base = 0.0
        self.disk_base = 0
        self.threads = 0
        self.start_cpu()
        self.memory_base = self._resident_bytes()[0]

    def start_cpu(self):
        """CPU time counts from now on."""
        self.cpu_base = self._cpu_seconds()

    def _cpu_seconds(self):
        try:
            return time.clock_gettime(self.clock)
        except OSError:
            return 0.0

    def _resident_bytes(self):
        """(anonymous, shared) memory of the process, the zygote's image left out; zeros when it is gone or /proc is not there."""
        found = {}
        try:
            with open(f'/proc/{self.pid}/status', 'rb') as file:
                for line in file:
                    if line.startswith((b'RssAnon:', b'RssShmem:')):
                        name, value = line.split()[:2]
                        found[name] = int(value) * 1024
                    elif line.startswith(b'Threads:'):
                        self.threads = int(line.split()[1])
        except OSError:
            pass
        # How much of the zygote's image the program has looked at, nobody says: all of it is taken off.
        return found.get(b'RssAnon:', 0), max(0, found.get(b'RssShmem:', 0) - self.image_bytes)

    def start_disk(self):
        """What lies in the folders now does not count: where they are not the run's own, others have been there."""
        self.disk_base = self.disk_bytes()

    def disk_bytes(self):
        """Bytes in the private memory file systems, the input files not counted."""
        total = 0
        for folder in self.folders:
            info = os.fstatvfs(folder)
            total += (info.f_blocks - info.f_bfree) * info.f_frsize
        return max(0, total - self.input_bytes - self.disk_base)

    def sample(self):
        """Takes the numbers now; returns (memory bytes, CPU seconds)."""
        anonymous, shared = self._resident_bytes()
        # Shared memory may be a mapped file of the private folders: counted once, by the larger of the two.
        memory = max(0, anonymous - self.memory_base) + max(shared, self.disk_bytes())
        if self.group:
            memory = max(memory, self.group.memory_bytes() - self.input_bytes)
        self.memory_peak = max(self.memory_peak, memory)
        cpu = self._cpu_seconds() - self.cpu_base
        if cpu > 0:
            self.cpu_ms = round(cpu * 1000, 1)
        return memory, cpu

    def settle(self, cpu):
        """After the end: CPU seconds from the kernel's account of the dead process, when it is dead."""
        if cpu is not None:
            self.cpu_ms = round(max(0.0, cpu - self.cpu_base) * 1000, 1)
        if self.group:
            self.memory_peak = max(self.memory_peak, self.group.peak_bytes() - self.input_bytes)
