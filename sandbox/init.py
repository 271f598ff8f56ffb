"""The first process of the outer box: starts zygotes, replaces worn ones without a gap, and reaps what is orphaned.

Its argument is JSON: { listener, keeper, report, slots, namespaces, preload, python }. A new zygote is ready before the old one stops taking runs; both
listen on the same socket meanwhile, so no run is lost.
"""
import json
import os
import random
import select
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from moli_sandbox import report  # noqa: E402
from moli_sandbox import syscalls as kernel  # noqa: E402

# Oldest that a zygote with runs behind it gets, in seconds.
GENERATION_SECONDS = 600.0
FIRST_BACKOFF, LAST_BACKOFF = 0.1, 5.0
# All that a zygote, and so every run, has in its environment.
ENVIRONMENT = {
    'PATH': '/usr/bin:/bin',
    'HOME': '/workspace',
    'LANG': 'C.UTF-8',
    'LC_ALL': 'C.UTF-8',
    'TMPDIR': '/tmp',
    'MPLBACKEND': 'Agg',
    'MPLCONFIGDIR': '/opt/fonts',
    'PYTHONDONTWRITEBYTECODE': '1',
    'PYTHONUTF8': '1',
    # More threads than one would make each run start a pool; forked children can't use one anyway.
    'OPENBLAS_NUM_THREADS': '1',
    'OMP_NUM_THREADS': '1',
    'MKL_NUM_THREADS': '1',
    'ARROW_DEFAULT_MEMORY_POOL': 'system',
    'MALLOC_ARENA_MAX': '2',
    'JOBLIB_MULTIPROCESSING': '0',
    'LOKY_MAX_CPU_COUNT': '2',
}


class Generation:
    """One zygote process. Closing `retire` tells it and its idle slots to leave."""

    def __init__(self, options):
        retire_read, self.retire = os.pipe()
        report_read, report_write = os.pipe()
        self.reports, self.buffer = report_read, b''
        self.ready = self.used = False
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            kept = [descriptor for descriptor in (options['listener'], options['keeper'], retire_read, report_write) if descriptor >= 0]
            for descriptor in kept:
                os.set_inheritable(descriptor, True)
            environment = {**ENVIRONMENT, 'PYTHONHASHSEED': str(random.SystemRandom().randrange(1, 1 << 32))}
            arguments = {**options, 'retire': retire_read, 'report': report_write}
            # -P: no folder of a run is ever on the path; -s: no packages of a user.
            os.execve(options['python'], [options['python'], '-P', '-s', '-X', 'frozen_modules=on', '/opt/moli/zygote.py', json.dumps(arguments)], environment)
        os.close(retire_read)
        os.close(report_write)

    def close_retire(self):
        if self.retire is not None:
            os.close(self.retire)
            self.retire = None


class Generations:
    """Keeps one ready zygote; at a change there are two for a moment."""

    def __init__(self, options):
        self.options = options
        self.current = None
        self.coming = None
        self.leaving = []
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
            self.start_if_wanted()
            generations = [generation for generation in (self.current, self.coming, *self.leaving) if generation]
            readable, _, _ = select.select([wake_read, *(generation.reports for generation in generations)], [], [], self.wait_seconds())
            if wake_read in readable:
                os.read(wake_read, 4096)
                self.reap()
            for generation in generations:
                if generation.reports in readable:
                    self.hear(generation)

    def wait_seconds(self):
        now = time.monotonic()
        if not self.current and not self.coming:
            return max(0.01, self.retry_at - now)
        if self.current and self.current.used and not self.coming:
            return max(0.01, self.current.started + GENERATION_SECONDS - now)
        return None

    def start_if_wanted(self):
        now = time.monotonic()
        old = self.current and self.current.used and now - self.current.started > GENERATION_SECONDS
        if not self.coming and now >= self.retry_at and (not self.current or old or getattr(self.current, 'worn', False)):
            self.coming = Generation(self.options)

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
        generation.ready = True
        self.failures = 0
        if self.current:
            self.current.close_retire()
            self.leaving.append(self.current)
        self.current, self.coming = generation, None

    def forget(self, generation):
        """A zygote and all of its slots are gone: planned, or not."""
        generation.close_retire()
        if generation in self.leaving:
            self.leaving.remove(generation)
            return
        self.failures += 1
        self.retry_at = time.monotonic() + min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** min(self.failures, 10))
        report.report('zygote-lost', inARow=self.failures)
        if generation is self.current:
            self.current = None
        else:
            self.coming = None

    def reap(self):
        """Collects ended children. A zygote that died makes its idle slots leave; its busy ones finish their runs."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for generation in (self.current, self.coming):
                if generation and generation.pid == pid:
                    generation.close_retire()
                    self.leaving.append(generation)
                    if generation is self.current:
                        self.current = None
                    else:
                        self.coming = None
                    self.failures += 1
                    self.retry_at = time.monotonic() + min(LAST_BACKOFF, FIRST_BACKOFF * 2 ** min(self.failures, 10))
                    report.report('zygote-lost', pid=pid, inARow=self.failures)


def main():
    options = json.loads(sys.argv[1])
    report.report_to(options['report'])
    kernel.set_parent_death_signal(signal.SIGKILL)
    kernel.set_dumpable(False)
    Generations(options).run()


if __name__ == '__main__':
    main()
