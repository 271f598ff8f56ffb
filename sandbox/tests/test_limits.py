"""Every limit of a run, reached on purpose: the verdict, the time it takes, and that the next run is not touched."""

import time

from support import BoxCase, descendants, unittest, until

MIB = 1 << 20
BOMB = 'x = []\nwhile True: x.append(bytearray(8 << 20))'


def anonymous_kilobytes(pid):
    """Memory of a process that no file backs; 0 when it has ended."""
    try:
        with open(f'/proc/{pid}/status', encoding='ascii') as file:
            return next((int(line.split()[1]) for line in file if line.startswith('RssAnon')), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Limits(BoxCase):
    def check(self, code, verdict, limits=None, files=()):
        result = self.run_code(code, files, limits)
        self.assertEqual(result.verdict, verdict, f'{result.end} {result.stderr[-500:]}')
        if verdict not in ('ok', 'user_error'):
            self.assertTrue(result.error['explanation']['zh'] and result.error['explanation']['en'])
        after = self.run_code('print("next")')
        self.assertEqual((after.verdict, after.text), ('ok', 'next\n'))
        return result

    def test_wall_time(self):
        result = self.check('print("begun")\nwhile True: pass', 'timeout_wall', {'wallSeconds': 1})
        self.assertEqual(result.text, 'begun\n')
        self.assertTrue(1000 <= result.end['usage']['wallMs'] < 3000, result.end['usage'])
        self.assertEqual(result.end['signal'], 'SIGKILL')

    def test_sleep_past_the_end(self):
        self.check('import time; time.sleep(60)', 'timeout_wall', {'wallSeconds': 1})

    def test_ignored_signals_and_stop(self):
        self.check(
            'import signal, os\n'
            'for s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU, signal.SIGHUP): signal.signal(s, signal.SIG_IGN)\n'
            'os.kill(os.getpid(), signal.SIGSTOP)\n'
            'while True: pass', 'timeout_wall', {'wallSeconds': 1})

    def test_wall_time_comes_first_when_both_are_equal(self):
        for _ in range(6):
            self.check('while True: pass', 'timeout_wall', {'wallSeconds': 0.4, 'cpuSeconds': 0.4})

    def test_cpu_time(self):
        result = self.check('while True: pass', 'timeout_cpu', {'cpuSeconds': 1, 'wallSeconds': 60})
        self.assertGreaterEqual(result.end['usage']['cpuMs'], 900)

    def test_cpu_time_of_threads_together(self):
        code = 'import threading\ndef spin():\n  while True: pass\nfor _ in range(3): threading.Thread(target=spin).start()\nspin()'
        self.check(code, 'timeout_cpu', {'cpuSeconds': 1, 'wallSeconds': 60})

    def test_memory(self):
        result = self.check(BOMB, 'memory_limit', {'memoryBytes': 200 * MIB})
        self.assertIn('200 MiB', result.error['explanation']['zh'])
        self.assertGreater(result.end['usage']['maxMemoryBytes'], 150 * MIB)

    def test_memory_of_one_large_piece(self):
        self.check('x = bytearray(20 << 30)', 'memory_limit')
        self.check('import numpy as np\nx = np.ones((100_000, 100_000))', 'memory_limit')

    def test_memory_mapped_and_in_shared_folders(self):
        self.check('import mmap\nm = mmap.mmap(-1, 600 << 20)\nfor i in range(0, len(m), 4096): m[i] = 1', 'memory_limit', {'memoryBytes': 100 * MIB})
        self.check(
            'for folder in ("/tmp", "/dev/shm", "/workspace"):\n  with open(folder + "/x", "wb") as f:\n    for _ in range(60): f.write(bytes(1 << 20))',
            'memory_limit', {'memoryBytes': 100 * MIB, 'diskBytes': 70 * MIB})

    def test_memory_of_inputs_is_not_counted(self):
        result = self.check('print(len(open("big", "rb").read()))', 'ok', {'memoryBytes': 64 * MIB, 'diskBytes': MIB}, {'big': bytes(40 * MIB)})
        self.assertEqual(result.text, f'{40 * MIB}\n')

    def test_disk(self):
        result = self.check('with open("f", "wb") as f:\n  while True: f.write(bytes(1 << 20))', 'disk_limit', {'diskBytes': 5 * MIB})
        self.assertIn('5 MiB', result.error['explanation']['en'])

    def test_many_empty_files(self):
        self.check('for i in range(1_000_000): open(f"f{i}", "w").close()', 'disk_limit')

    def test_threads(self):
        result = self.check('import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()', 'pids_limit', {'pids': 20})
        self.assertIn('20', result.error['explanation']['zh'])

    def test_fork_is_refused_with_an_explanation(self):
        for code in ('import os\nwhile True: os.fork()', 'import subprocess\nsubprocess.run(["ls"])', 'import os\nos.execv("/bin/sh", ["sh"])'):
            with self.subTest(code):
                result = self.check(code, 'user_error')
                self.assertEqual(result.error['name'], 'PermissionError')

    def test_bomb_beside_another_run(self):
        other = self.box.open('import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()', limits={'pids': 64, 'wallSeconds': 10})
        result = self.run_code('import threading\nts = [threading.Thread(target=print, args=(i,)) for i in range(20)]\n[t.start() for t in ts]; [t.join() for t in ts];')
        self.assertEqual((result.verdict, len(result.text.split())), ('ok', 20))
        self.assertEqual(other.finish().verdict, 'pids_limit')

    def test_flood_of_output(self):
        connection = self.box.open('while True: print("x" * 1000)', limits={'outputBytes': MIB, 'wallSeconds': 30})
        connection.read_until(lambda result: len(result.stdout) >= MIB // 4)
        before = self.memory()
        connection.read_until(lambda result: len(result.stdout) >= MIB)
        growth = max(size - before[pid] for pid, size in self.memory().items() if pid in before)
        result = connection.finish()
        self.assertLess(growth, 8_192)
        self.assertEqual(result.verdict, 'output_limit')
        self.assertTrue(result.end['truncated']['stdout'])
        self.assertGreater(result.end['total']['stdout'], 64 * MIB - MIB)
        self.assertLess(len(result.stdout), MIB + 8192)
        self.assertIn('bytes left out', result.text)

    def memory(self):
        """Anonymous kilobytes of every process of the box."""
        return {pid: anonymous_kilobytes(pid) for pid in descendants(self.box.process.pid)}

    def test_long_output_keeps_head_and_tail(self):
        result = self.check('for i in range(100_000): print(i)', 'ok', {'outputBytes': 10_000})
        self.assertTrue(result.text.startswith('0\n1\n'))
        self.assertTrue(result.text.endswith('99998\n99999\n'))
        self.assertTrue(result.end['truncated']['stdout'])
        self.assertEqual(result.end['total']['stdout'], sum(len(str(i)) + 1 for i in range(100_000)))

    def test_flood_of_stderr_leaves_stdout(self):
        result = self.check('import sys\nprint("useful")\nfor i in range(20_000): print("noise", file=sys.stderr)', 'ok', {'outputBytes': 4_000})
        self.assertEqual(result.text, 'useful\n')
        self.assertTrue(result.end['truncated']['stderr'] and not result.end['truncated']['stdout'])

    def test_one_line_without_end_and_many_small_writes(self):
        result = self.check('import sys\nsys.stdout.write("y" * 5_000_000)', 'ok', {'outputBytes': 100_000})
        self.assertEqual(result.end['total']['stdout'], 5_000_000)
        result = self.check('import os\nfor _ in range(100_000): os.write(1, b"z")', 'ok', {'outputBytes': 10_000})
        self.assertEqual(result.end['total']['stdout'], 100_000)

    def test_bytes_of_output_are_not_changed(self):
        data = bytes(range(256)) + '混合\u2028\ufeff'.encode() + '中文'.encode('gbk')
        result = self.check(f'import os\nos.write(1, {data!r})', 'ok')
        self.assertEqual(result.stdout, data)

    def test_slow_reader_does_not_change_the_deadline(self):
        connection = self.box.open('import sys\nwhile True: sys.stdout.write("x" * 65536)', limits={'outputBytes': 512 * MIB, 'wallSeconds': 2})
        connection.read_until(lambda result: result.started)
        self.wait_for_end_of(connection)
        self.assertEqual(connection.finish().verdict, 'timeout_wall')

    def wait_for_end_of(self, connection):
        """Reads nothing until the run must be over: the monitor has to end it although nobody takes its output."""
        until(lambda: time.monotonic() > connection.begun + 2.5, 'the deadline to pass')


class WithoutCgroups(Limits):
    """The same where no cgroup can be had: the monitor watches."""

    arguments = ('--no-cgroups',)


if __name__ == '__main__':
    unittest.main()
