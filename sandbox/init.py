"""The first process of the outer box: starts zygotes, replaces worn ones without a gap, and reaps what is orphaned.

Its argument is JSON: { listener, keeper, report, slots, preload, python, fonts, once, plain, generationRuns }. A new zygote is ready before the
old one stops taking runs; both listen on the same socket meanwhile, so no run is lost. With `once` there is a single zygote, complete from the
start, and the box ends with it.
"""
import json
import os
import select
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from moli_sandbox import proof, report  # noqa: E402
from moli_sandbox import syscalls as kernel  # noqa: E402

# Oldest that a zygote with runs behind it gets, in seconds.
GENERATION_SECONDS = 600.0
# After this long the first zygote, which loaded the core only, gets its full successor: by then the rest of the system has started.
CORE_SECONDS = 5.0
FIRST_BACKOFF, LAST_BACKOFF = 0.1, 5.0
ZYGOTE = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'zygote.py')
# All that a zygote, and so every run, has in its environment.
ENVIRONMENT = {
    'PATH': '/usr/bin:/bin',
    'HOME': '/workspace',
    'LANG': 'C.UTF-8',
    'LC_ALL': 'C.UTF-8',
    'TMPDIR': '/tmp',
    'MPLBACKEND': 'Agg',
    'PYTHONDONTWRITEBYTECODE': '1',
    'PYTHONUTF8': '1',
    # More threads than one would make each run start a pool; forked children can't use one anyway.
    'OPENBLAS_NUM_THREADS': '1',
    'OMP_NUM_THREADS': '1',
    'MKL_NUM_THREADS': '1',
    'ARROW_DEFAULT_MEMORY_POOL': 'system',
    # A thread of an allocator would not survive the fork.
    'JE_ARROW_MALLOC_CONF': 'background_thread:false',
    'MALLOC_ARENA_MAX': '2',
    # See moli_sandbox/snapshot.py.
    'MALLOC_MMAP_MAX_': '0',
    'JOBLIB_MULTIPROCESSING': '0',
    'LOKY_MAX_CPU_COUNT': '2',
}


class Generation:
    """One zygote process. Closing `retire` tells it and its idle slots to leave."""

    def __init__(self, options, level):
        retire_read, self.retire = os.pipe()
        report_read, report_write = os.pipe()
        self.reports, self.buffer = report_read, b''
        self.level = level
        self.used = self.worn = False
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            kept = [descriptor for descriptor in (options['listener'], options['keeper'], retire_read, report_write) if descriptor >= 0]
            for descriptor in kept:
                os.set_inheritable(descriptor, True)
            environment = {**ENVIRONMENT, 'MPLCONFIGDIR': options['fonts'], 'PYTHONHASHSEED': str(int.from_bytes(os.urandom(4)) or 1)}
            arguments = {**options, 'retire': retire_read, 'report': report_write, 'preload': level}
            # -P: no folder of a run is ever on the path; -s: no packages of a user.
            try:
                os.execve(options['python'], [options['python'], '-P', '-s', ZYGOTE, json.dumps(arguments)], environment)
            except OSError as error:
                report.report('zygote-failed', reason=str(error))
            os._exit(1)
        os.close(retire_read)
        os.close(report_write)

    def close_retire(self):
        if self.retire is not None:
            os.close(self.retire)
            self.retire = None


class Generations:
    """Keeps one ready zygote; at a change there are two for a moment. The very first loads the core only and is soon replaced by a full one."""

    def __init__(self, options):
        self.options = options
        self.current = None
        self.coming = None
        self.leaving = []
        self.had_one = False
        self.failures = 0
        self.retry_at = 0.0

    def run(self):
        wake_read, wake_write = os.pipe()
        for descriptor in (wake_read, wake_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        while True:
            self.start_if_due()
            generations = [generation for generation in (self.current, self.coming, *self.leaving) if generation]
            readable, _, _ = select.select([wake_read, *(generation.reports for generation in generations)], [], [], self.wait_seconds())
            if wake_read in readable:
                os.read(wake_read, 4096)
                self.reap()
            for generation in generations:
                if generation.reports in readable:
                    self.hear(generation)

    def due_at(self):
        """Moment at which the next zygote should be started, or None for not yet known."""
        if self.coming:
            return None
        if not self.current:
            return self.retry_at
        if self.current.level != self.options['preload']:
            return max(self.retry_at, self.current.started + CORE_SECONDS)
        if self.current.worn:
            return self.retry_at
        return max(self.retry_at, self.current.started + GENERATION_SECONDS) if self.current.used else None

    def wait_seconds(self):
        due = self.due_at()
        return None if due is None else max(0.0, due - time.monotonic())

    def start_if_due(self):
        due = self.due_at()
        if due is not None and due <= time.monotonic():
            wanted = self.options['preload']
            self.coming = Generation(self.options, 'core' if wanted == 'full' and not self.had_one else wanted)

    def hear(self, generation):
        data = os.read(generation.reports, 65536)
        generation.buffer += data
        *lines, generation.buffer = generation.buffer.split(b'\n')
        for line in lines:
            event = json.loads(line)
            if event['event'] == 'zygote-ready':
                self.take_over(generation)
            elif event['event'] == 'zygote-used':
                generation.used = True
            elif event['event'] == 'zygote-worn':
                generation.worn = True
            os.write(self.options['report'], line + b'\n')
        if not data:
            os.close(generation.reports)
            generation.reports = -1
            self.forget(generation)

    def take_over(self, generation):
        self.failures = 0
        self.had_one = True
        if self.current:
            self.current.close_retire()
            self.leaving.append(self.current)
        self.current, self.coming = generation, None

    def forget(self, generation):
        """A zygote and all of its slots are gone."""
        self.lose(generation)
        if generation in self.leaving:
            self.leaving.remove(generation)

    def reap(self):
        """Collects ended children."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for generation in (self.current, self.coming):
                if generation and generation.pid == pid:
                    self.lose(generation)

    def lose(self, generation):
        """A zygote died that was not told to leave: its idle slots leave, its busy ones finish, another is started after a while."""
        if generation not in (self.current, self.coming):
            return
        generation.close_retire()
        self.leaving.append(generation)
        if generation is self.current:
            self.current = None
        else:
            self.coming = None
        self.failures += 1
        self.retry_at = time.monotonic() + min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** min(self.failures, 10))
        report.report('zygote-lost', pid=generation.pid, inARow=self.failures)


def serve_once(options):
    """One zygote to its end; what it reports is passed on as it comes. Orphans need no reaping: this process ends with them."""
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    generation = Generation(options, options['preload'])
    while data := os.read(generation.reports, 65536):
        os.write(options['report'], data)


def main():
    options = json.loads(sys.argv[1])
    report.report_to(options['report'])
    report.report('box-sealed', **proof.of_this_process())
    kernel.set_parent_death_signal(signal.SIGKILL)
    kernel.set_dumpable(False)
    if options['once']:
        serve_once(options)
    else:
        Generations(options).run()


if __name__ == '__main__':
    main()
