"""The life of a box: who may start it, what it gives, what it leaves behind. Nothing is the right answer to the last."""
import json
import os
import re
import signal
import subprocess
import threading
import time

from moli_sandbox import cgroup_tree
from support import BOX, PYTHON, SYSTEM_PYTHON, Box, descendants, group_folders, needs_python, needs_root, ordinary_user, unittest, until

GENERATION_RUNS = 50
# Two and a spare.
SLOTS = 3
# Launcher and init; nursery and zygote; program and monitor of each slot.
IDLE_PROCESSES = 2 + 2 + 2 * SLOTS


def alive(pids):
    """Those of the processes that still exist and are not merely waiting to be reaped."""
    found = set()
    for pid in pids:
        try:
            with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
                if file.read().rpartition(')')[2].split()[0] != 'Z':
                    found.add(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@needs_python
class Life(unittest.TestCase):
    def start(self, *arguments, **options):
        box = Box(*arguments, **{'preload': 'none', **options})
        self.addCleanup(box.close)
        self.assertTrue(box.answer.get('ready'), f'{box.answer}\n{box.read_log()}')
        return box

    def busy_box(self, **options):
        """A box with a run under way."""
        box = self.start(**options)
        connection = box.open('import time\nprint("x")\ntime.sleep(60)', limits={'wallSeconds': 60})
        connection.read_until(lambda result: result.stdout)
        self.addCleanup(connection.socket.close)
        return box

    def assert_nothing_left(self, box, pids, groups_swept=True):
        until(lambda: not alive(pids), f'all processes to end, left: {alive(pids)}')
        if groups_swept:
            until(lambda: not group_folders(box.process.pid), 'the cgroups to go')
        with open('/proc/self/mountinfo', encoding='utf-8') as file:
            self.assertNotIn(box.folder, file.read())

    def test_answer(self):
        box = self.start()
        self.assertEqual(box.answer['slots'], 2)
        self.assertTrue(box.answer['strength'].startswith('userns+landlock+seccomp'))
        self.assertRegex(box.answer['python'], r'^3\.\d+')
        self.assertEqual(os.stat(box.path).st_mode & 0o777, 0o600)

    def test_term(self):
        box = self.busy_box()
        pids = descendants(box.process.pid)
        self.assertGreater(len(pids), 4)
        started = time.monotonic()
        box.stop(signal.SIGTERM)
        self.assertLess(time.monotonic() - started, 5)
        self.assert_nothing_left(box, pids)
        self.assertEqual(os.listdir(box.state), [])

    def test_stdin_closes(self):
        box = self.busy_box()
        pids = descendants(box.process.pid)
        box.process.stdin.close()
        box.process.wait(30)
        self.assert_nothing_left(box, pids)

    def test_killed(self):
        box = self.busy_box()
        pids, pid = descendants(box.process.pid), box.process.pid
        box.stop(signal.SIGKILL)
        self.assert_nothing_left(box, pids, groups_swept=False)
        # What could not be taken away then is swept at the next start.
        self.start()
        self.assertEqual(group_folders(pid), [])

    def test_parent_dies(self):
        script = (
            'import subprocess, sys, time\n'
            'p = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)\n'
            'p.stdout.readline(); print(p.pid, flush=True); time.sleep(100)'
        )
        folder = Box.__new__(Box)
        import tempfile

        folder.folder = tempfile.mkdtemp(prefix='moli-test-')
        self.addCleanup(lambda: subprocess.run(['rm', '-rf', folder.folder], check=True))
        parent = subprocess.Popen(
            [SYSTEM_PYTHON, '-c', script, SYSTEM_PYTHON, BOX, '--python', PYTHON, '--state', folder.folder, '--slots', '1', '--preload', 'none'],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        box_pid = int(parent.stdout.readline())
        pids = descendants(parent.pid)
        self.assertIn(box_pid, pids)
        parent.kill()
        parent.wait()
        parent.stdout.close()
        until(lambda: not alive(pids), f'all processes to end, left: {alive(pids)}')
        until(lambda: not group_folders(box_pid), 'the cgroups to go')

    def test_slots_and_groups_go_with_their_runs(self):
        box = self.start()
        for i in range(10):
            self.assertEqual(box.run(f'print({i})').text, f'{i}\n')
        until(lambda: len(descendants(box.process.pid)) <= IDLE_PROCESSES, 'used slots to go')
        folders = group_folders(box.process.pid)
        if folders:
            until(lambda: all(len([entry for entry in os.scandir(folder) if entry.is_dir()]) <= 3 for folder in folders), 'used groups to go')

    def test_goes_on_as_strong_when_its_groups_were_removed(self):
        box = self.start()
        folders = group_folders(box.process.pid)
        if not folders:
            self.skipTest('no cgroup tree is writable')
        for folder in folders:
            cgroup_tree.remove_all(folder)
        until(lambda: box.run('print(1)').text == '1\n', 'a run to end well')
        for _ in range(box.answer['slots'] + 2):
            result = box.run('print(2)')
            self.assertEqual(result.text, '2\n')
        self.assertIn('cgroup', result.end['strength'])

    def test_dead_children_do_not_pile_up(self):
        box = self.start()
        for _ in range(5):
            box.run('import os; os._exit(0)')
        until(lambda: descendants(box.process.pid) == alive(descendants(box.process.pid)), 'zombies to be reaped')

    @needs_root
    def test_a_monitor_keeps_nothing_of_a_run(self):
        box = self.start()
        monitors = all_monitors(box)
        until(lambda: all('[eventpoll]' in str(descriptors_of(pid)) for pid in monitors), 'all to wait for a run')
        before = {pid: descriptors_of(pid) for pid in monitors}
        for code in ('print(1)', 'open("a.txt", "w").write("x")', 'import os\nos.makedirs("x/y")\nopen("x/y/z", "w").write("x")', '1 / 0', 'exit(3)'):
            for _ in monitors:
                self.assertNotEqual(box.run(code, [('in.csv', b'a,b\n1,2\n')]).verdict, 'platform_error')
        until(lambda: {pid: descriptors_of(pid) for pid in monitors} == before, 'descriptors to be as they were')
        self.assertEqual(monitors_of(box), monitors)

    def test_a_monitor_leaves_after_what_was_not_regular(self):
        box = self.start()
        # With the word of the run, as a program finds it in its own memory: messages that are none of the sandbox's sender.
        says = 'import os, struct\nnonce = display.__self__.sender.nonce\ndef say(kind, text): os.write(3, nonce + struct.pack("<cII", kind, len(text), 0) + text)\n'
        foreign = ('say(b"X", b"{}")', 'say(b"P", b"[" * 9)', 'say(b"P", b\'{"mimeType": "text/plain", "other": 1}\')', 'say(b"P", b"7")', 'say(b"R", b"[]")')
        for code in ('while True: pass', 'import os\nos._exit(0)', 'import os\nos.write(3, b"x" * 100)', *(says + line for line in foreign)):
            monitors = all_monitors(box)
            box.run(code, limits={'wallSeconds': 1})
            until(lambda: len(monitors_of(box)) == SLOTS and monitors_of(box) != monitors, 'another monitor to take its place')

    def test_a_monitor_that_dies_is_replaced(self):
        box = self.start()
        monitors = all_monitors(box)
        for pid in monitors:
            os.kill(pid, signal.SIGKILL)
        until(lambda: len(monitors_of(box)) == SLOTS and not monitors_of(box) & monitors, 'others to take their place')
        for number in range(len(monitors)):
            self.assertEqual(box.run(f'print({number})').text, f'{number}\n')

    def test_root_gives_up_root(self):
        if os.geteuid() != 0:
            self.skipTest('needs root')
        box = self.start('--uid', '64321')
        for pid in descendants(box.process.pid):
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                status = dict(line.split(':', 1) for line in file.read().splitlines() if ':' in line)
            self.assertEqual(set(status['Uid'].split()), {'64321'})
            self.assertEqual(status['Groups'].split(), [])
            self.assertEqual(status['NoNewPrivs'].strip(), '1')

    def test_running_code_has_no_capability_and_a_filter(self):
        box = self.busy_box()
        running = []
        for pid in descendants(box.process.pid):
            with open(f'/proc/{pid}/status', encoding='ascii') as file:
                status = dict(line.split(':', 1) for line in file.read().splitlines() if ':' in line)
            if status['Seccomp'].strip() == '2':
                running.append({name: status[name].strip().lstrip('0') for name in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb', 'NoNewPrivs')})
        self.assertEqual(running, [{'CapInh': '', 'CapPrm': '', 'CapEff': '', 'CapBnd': '', 'CapAmb': '', 'NoNewPrivs': '1'}])

    @needs_root
    def test_ordinary_user(self):
        box = self.start(user=ordinary_user(), preload='core')
        self.assertEqual(box.answer['strength'], 'userns+landlock+seccomp')
        self.assertEqual(box.run('import os\nprint(os.getuid())').text, '1000\n')
        self.assertEqual(box.run('x = []\nwhile True: x.append(bytearray(8 << 20))', limits={'memoryBytes': 100 << 20}).verdict, 'memory_limit')
        result = box.run('import pandas as pd, matplotlib.pyplot as plt\npd.Series([1, 2]).plot(title="图"); plt.savefig("a.png")')
        self.assertEqual([artifact['name'] for artifact in result.artifacts], ['a.png'])
        pids = descendants(box.process.pid)
        box.stop()
        self.assert_nothing_left(box, pids)

    def test_refuses_less_than_asked_for(self):
        box = Box('--min-strength', 'userns+landlock+seccomp+cgroup', '--no-cgroups', preload='none')
        self.addCleanup(box.close)
        self.assertEqual((box.answer['ready'], box.answer['missing']), (False, ['cgroup']))
        self.assertIn('cgroup', box.answer['reason'])
        self.assertEqual(box.process.wait(30), 3)

    def test_an_environment_that_does_not_start_is_said(self):
        answer = subprocess.run([SYSTEM_PYTHON, BOX, '--python', '/usr/bin/python3', '--probe'], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 3)
        self.assertFalse(json.loads(answer.stdout)['ready'])

    def test_probe(self):
        answer = subprocess.run([SYSTEM_PYTHON, BOX, '--python', PYTHON, '--probe', '--preload', 'none'], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        found = json.loads(answer.stdout)
        self.assertTrue(found['ready'] and found['strength'])

    def test_generations_change_without_losing_a_run(self):
        box = self.start('--generation-runs', str(GENERATION_RUNS))
        seeds, failures = set(), []

        def client(count):
            for _ in range(count):
                result = box.run('print(hash("x"))')
                if result.verdict != 'ok':
                    failures.append(result.end)
                seeds.add(result.text)

        threads = [threading.Thread(target=client, args=(GENERATION_RUNS // 2 + 3,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        until(lambda: client(1) or len(seeds) > 1, 'another hash seed')
        until(lambda: len(descendants(box.process.pid)) <= IDLE_PROCESSES, 'the old generation to leave')

    def test_a_generation_that_dies_is_replaced(self):
        """Its two processes, the nursery and the zygote, in turn."""
        for choose in (min, max):
            box = self.start()
            pids = descendants(box.process.pid)
            victim = choose(pid for pid in pids if b'zygote.py' in command_line(pid) and b'init.py' in command_line(parent_of(pid)))
            os.kill(victim, signal.SIGKILL)
            # A run that was given to a dying slot gets an answer all the same.
            until(lambda: box.run('print("again")').verdict == 'ok', 'runs to go on')
            until(lambda: not alive([pid for pid in pids if b'zygote.py' in command_line(pid)]), 'the old generation to go')

    def test_a_run_whose_zygote_dies_is_answered(self):
        box = self.busy_box()
        zygote = max(pid for pid in descendants(box.process.pid) if b'zygote.py' in command_line(pid) and b'init.py' in command_line(parent_of(pid)))
        connection = box.open('import time\nprint("x")\ntime.sleep(60)', limits={'wallSeconds': 60})
        connection.read_until(lambda result: result.stdout)
        os.kill(zygote, signal.SIGKILL)
        self.assertEqual(connection.finish().verdict, 'platform_error')


def monitors_of(box):
    """Ids of a box's monitors: children of the nursery, which is the older of a generation's two processes."""
    generation = [pid for pid in descendants(box.process.pid) if b'zygote.py' in command_line(pid)]
    nursery = min(pid for pid in generation if b'init.py' in command_line(parent_of(pid)))
    return {pid for pid in generation if parent_of(pid) == nursery}


def all_monitors(box):
    """The ids once there is a monitor for each slot: a box may be ready before the nursery has made the last one."""
    until(lambda: len(monitors_of(box)) == SLOTS, 'a monitor for each slot')
    return monitors_of(box)


def descriptors_of(pid):
    """Kinds of the open files of a process that waits for a run, those of its slot included. None while it closes some: then it does not wait yet."""
    try:
        return sorted(re.sub(r':\[\d+\]$', '', os.path.basename(os.readlink(f'/proc/{pid}/fd/{name}'))) for name in os.listdir(f'/proc/{pid}/fd'))
    except FileNotFoundError:
        return None


def command_line(pid):
    try:
        with open(f'/proc/{pid}/cmdline', 'rb') as file:
            return file.read()
    except FileNotFoundError:
        return b''


def parent_of(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
        return int(file.read().rpartition(')')[2].split()[1])


if __name__ == '__main__':
    unittest.main()
