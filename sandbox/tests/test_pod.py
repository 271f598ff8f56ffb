"""The box as a container of a Pod: what it needs, what it says, that it serves once. On this machine, in what podlike.py makes."""
import glob
import json
import os
import re
import stat
import subprocess

from support import BOX, PYTHON, SANDBOX, SYSTEM_PYTHON, Box, needs_python, needs_root, unittest, until

import podlike
import test_walls
from moli_sandbox import advice, container, keeper, landlock, plain

MIB = 1 << 20
CHART = 'import pandas as pd, matplotlib.pyplot as plt\npd.Series([1, 2]).plot(title="销售额 −1"); plt.savefig("图.png")\nprint("drawn")'
# Each time more at once than the monitor's watch of memory can see coming.
FAST_BOMB = 'import mmap\nkept = []\nwhile True:\n    kept.append(mmap.mmap(-1, 2 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE))'


def pod(*arguments, preload='none', **options):
    """A box as a Pod's container."""

    def wrapped(state, command):
        return [SYSTEM_PYTHON, podlike.__file__, state, json.dumps(options), *command]

    return Box('--pod', *arguments, preload=preload, wrapped=wrapped)


def plain_pod(*arguments, preload='none', **options):
    """The same from an image, with in-memory volumes for the work folders, on a node that refuses namespaces."""
    places = {PYTHON: '/opt/moli/python/bin/python', BOX: '/opt/moli/sandbox/box.py'}
    options = {'refuse': ['unshare'], 'image': {'/opt/moli/python': keeper.environment_of(PYTHON), '/opt/moli/sandbox': SANDBOX}, **options}

    def wrapped(state, command):
        return [SYSTEM_PYTHON, podlike.__file__, state, json.dumps(options), *({**places, state: '/run/moli'}.get(word, word) for word in command)]

    return Box('--pod', *arguments, preload=preload, wrapped=wrapped)


def ready_file(box):
    with open(os.path.join(box.state, 'ready.json'), encoding='utf-8') as file:
        return json.load(file)


def is_cgroup_writable():
    """Whether a group with a memory limit can be made here."""
    child = os.fork()
    if child == 0:
        try:
            os.rmdir(podlike.memory_group(1 << 30))
        except (OSError, KeyError, IndexError):
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def times_full(box):
    """How often the container's memory was at its limit."""
    group, = glob.glob(f'/sys/fs/cgroup/**/podlike-{box.process.pid}', recursive=True)
    if os.path.exists(f'{group}/memory.failcnt'):
        return container.number(container.read(f'{group}/memory.failcnt'))
    return int(dict(line.split() for line in container.read(f'{group}/memory.events').splitlines())['max'])


@needs_python
@needs_root
class Pod(unittest.TestCase):
    """What holds for the box of one machine is tested there; here is what is different."""

    def start(self, *arguments, **options):
        box = pod(*arguments, **options)
        self.addCleanup(box.close)
        return box

    def ready(self, *arguments, **options):
        box = self.start(*arguments, **options)
        self.assertTrue(box.answer.get('ready'), f'{box.answer}\n{box.read_log()}')
        return box

    def refused(self, *arguments, **options):
        """The answer of a box that must not start, with both languages and the same word in the file."""
        box = self.start(*arguments, **options)
        self.assertFalse(box.answer['ready'])
        self.assertEqual(box.process.wait(30), 3)
        self.assertTrue(all(box.answer['reasons'].values()))
        return box.answer

    def test_one_run_and_the_end(self):
        box = self.ready(preload='core')
        self.assertEqual(box.answer['strength'], 'userns+landlock+seccomp')
        self.assertEqual(ready_file(box), box.answer)
        status = os.stat(box.path)
        self.assertEqual((stat.S_IMODE(status.st_mode), status.st_gid), (0o660, podlike.USER))
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(box.state, 'ready.json')).st_mode), 0o640)
        result = box.run(CHART)
        self.assertEqual((result.verdict, result.text, [artifact['name'] for artifact in result.artifacts]), ('ok', 'drawn\n', ['图.png']))
        self.assertEqual(box.process.wait(30), 0)
        self.assertEqual(os.listdir(box.state), ['ready.json'])
        self.assertEqual({key: ready_file(box)[key] for key in ('ready', 'used')}, {'ready': False, 'used': True})

    def test_a_container_that_starts_again_in_a_used_pod_refuses(self):
        box = self.ready()
        box.run('print(1)')
        box.process.wait(30)
        for _ in range(2):
            with self.start_again(box) as again:
                self.assertEqual(again.wait(30), 3)
            self.assertEqual({key: ready_file(box)[key] for key in ('ready', 'used', 'missing')}, {'ready': False, 'used': True, 'missing': ['unused']})

    def test_a_container_that_was_killed_was_offered_all_the_same(self):
        """It may have had its run: nobody left to say."""
        box = self.ready()
        box.stop(9)
        with self.start_again(box) as again:
            self.assertEqual(again.wait(30), 3)
        self.assertEqual((ready_file(box)['ready'], ready_file(box)['used']), (False, True))

    def start_again(self, box):
        """The container started by the kubelet again: the shared folder is as it was left."""
        command = [SYSTEM_PYTHON, podlike.__file__, box.state, '{}', SYSTEM_PYTHON, BOX, '--pod', '--python', PYTHON, '--state', box.state, '--preload', 'none']
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def test_what_was_refused_may_be_tried_again(self):
        box = self.start(refuse=['unshare'])
        self.assertFalse(box.answer['ready'])
        box.process.wait(30)
        with self.start_again(box) as process:
            self.assertTrue(json.loads(process.stdout.readline())['ready'])
            process.terminate()
            self.assertEqual(process.wait(30), 0)

    def test_ended_from_outside_before_its_run(self):
        box = self.ready()
        box.stop()
        self.assertEqual(box.process.returncode, 0)
        self.assertEqual(ready_file(box)['used'], True)

    def test_a_runner_that_leaves_has_used_it(self):
        box = self.ready()
        connection = box.open('import time\nprint("x")\ntime.sleep(60)', limits={'wallSeconds': 60})
        connection.read_until(lambda result: result.stdout)
        connection.socket.close()
        self.assertEqual(box.process.wait(30), 0)

    def test_a_profile_that_refuses_namespaces(self):
        for call in ('unshare', 'mount', 'pivot_root'):
            answer = self.refused(refuse=[call])
            self.assertEqual(answer['missing'], ['userns'])
            for text in answer['reasons'].values():
                self.assertIn('k8s/seccomp/moli-sandbox.json', text)
                self.assertIn('localhostProfile: profiles/moli-sandbox.json', text)

    def test_less_than_asked_for(self):
        answer = self.refused('--min-strength', 'userns+landlock+seccomp+cgroup')
        self.assertEqual(answer['missing'], ['cgroup'])

    def test_no_landlock(self):
        answer = self.refused(refuse=['landlock_create_ruleset'])
        self.assertFalse(answer['ready'])

    def test_root_is_refused(self):
        box = Box('--pod', preload='none')
        self.addCleanup(box.close)
        self.assertEqual((box.answer['ready'], box.answer['missing']), (False, ['user']))
        self.assertIn('runAsUser: 10001', box.answer['reason'])

    def test_no_shared_folder(self):
        done = subprocess.run(
            [SYSTEM_PYTHON, BOX, '--pod', '--python', PYTHON, '--state', '/run/no-such-folder'], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            user=podlike.USER, group=podlike.USER, extra_groups=[])
        answer = json.loads(done.stdout)
        self.assertEqual((done.returncode, answer['missing']), (3, ['state']))
        self.assertIn('emptyDir', answer['reason'])

    def test_the_container_s_limits(self):
        if not is_cgroup_writable():
            self.skipTest('no cgroup tree is writable')
        box = self.ready('--min-strength', 'userns+landlock+seccomp+cgroup', memoryBytes=600 * MIB)
        self.assertEqual(box.answer['strength'], 'userns+landlock+seccomp+cgroup')
        self.assertEqual(box.answer['container']['memoryBytes'], 600 * MIB)
        # The job may more than the container: the kernel ends the program, and the monitor is there to say so.
        result = box.run(FAST_BOMB, limits={'memoryBytes': 8192 * MIB})
        self.assertEqual((result.verdict, result.end['signal']), ('memory_limit', 'SIGKILL'))
        self.assertEqual(box.process.wait(30), 0)

    def test_a_run_at_its_limit_fits_into_the_chart_s_container(self):
        """Its memory, its folders, which count to it, and 200 MiB of input files, beside what a Pod loads."""
        if not is_cgroup_writable():
            self.skipTest('no cgroup tree is writable')
        with open(os.path.join(os.path.dirname(SANDBOX), 'charts/moli/values.yaml'), encoding='utf-8') as values:
            limit = int(re.search(r'limits: { cpu: "1", memory: (\d+)Gi', values.read())[1]) << 30
        box = self.ready(preload='core', memoryBytes=limit)
        result = box.run(
            'for i in range(90):\n    with open(f"/tmp/{i}", "wb") as file: file.write(bytes(1 << 20))\n'
            'kept = []\nwhile True: kept.append(b"x" * (1 << 20))',
            [('a.bin', bytes(100 * MIB)), ('b.bin', bytes(100 * MIB))], limits={'memoryBytes': 512 * MIB})
        self.assertEqual(result.verdict, 'memory_limit')
        # Ended by its monitor: the kernel had to refuse nothing.
        self.assertEqual(times_full(box), 0)

    def test_limits_of_the_run(self):
        for code, limits, verdict in (
            ('x = []\nwhile True: x.append(bytearray(8 << 20))', {'memoryBytes': 100 * MIB}, 'memory_limit'),
            ('import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()', {'pids': 20}, 'pids_limit'),
            ('with open("f", "wb") as f:\n  while True: f.write(bytes(1 << 20))', {'diskBytes': 5 * MIB}, 'disk_limit'),
            ('while True: pass', {'wallSeconds': 1}, 'timeout_wall'),
            # The CPU clock of a process is found although /proc counts processes as the container does.
            ('while True: pass', {'cpuSeconds': 1, 'wallSeconds': 60}, 'timeout_cpu'),
            ('while True: print("x" * 1000)', {'outputBytes': MIB}, 'output_limit'),
            ('import os\nos.fork()', {}, 'user_error'),
        ):
            with self.subTest(verdict):
                box = self.ready()
                result = box.run(code, limits=limits)
                self.assertEqual(result.verdict, verdict, result.end)
                self.assertEqual(box.process.wait(30), 0)

    def test_a_slot_that_dies_ends_the_box(self):
        box = self.ready()
        result = box.run('import os, signal\nos.kill(1, signal.SIGSEGV)\nos._exit(3)')
        self.assertIn(result.verdict, ('user_error', 'signalled'))
        self.assertEqual(box.process.wait(30), 0)
        until(lambda: os.listdir(box.state) == ['ready.json'], 'the socket to go')


@needs_python
@needs_root
class PodWalls(test_walls.Walls):
    """Every wall of the box on one machine, from inside a Pod; a fresh Pod for each run."""

    preload = 'none'

    @classmethod
    def setUpClass(cls):
        if not PYTHON:
            raise unittest.SkipTest('no Python environment: run sandbox/install.py first')

    def run_code(self, code, files=(), limits=None, **job):
        box = pod(preload=self.preload)
        try:
            self.assertTrue(box.answer.get('ready'), f'{box.answer}\n{box.read_log()}')
            return box.run(code, files, limits, **job)
        finally:
            box.close()

    # A Pod has no second run and no neighbour; the launcher's environment is looked at where its box is.
    test_two_runs_at_once_do_not_see_each_other = test_nothing_is_left_for_the_next_run = test_canary_secrets_are_not_in_memory = None
    test_randomness_differs_between_runs = None
    # About what was loaded before, which is nothing here.
    test_shadowing_modules_touches_only_the_run = None


@needs_python
@needs_root
class WithoutNamespaces(unittest.TestCase):
    """What is left where a node refuses namespaces and the configuration allows it."""

    @classmethod
    def setUpClass(cls):
        if landlock.version() < plain.SIGNALS_SCOPED:
            raise unittest.SkipTest('Landlock of this kernel is too old')

    ALLOWED = ('--min-strength', 'landlock+seccomp')

    def start(self, *arguments, **options):
        box = plain_pod(*arguments, **options)
        self.addCleanup(box.close)
        return box

    def run_code(self, code, limits=None, files=(), **options):
        box = self.start(*self.ALLOWED, **options)
        self.assertTrue(box.answer.get('ready'), f'{box.answer}\n{box.read_log()}')
        self.assertEqual(box.answer['strength'], 'landlock+seccomp')
        result = box.run(code, files, limits)
        self.assertEqual(box.process.wait(30), 0)
        return result

    def test_only_when_allowed(self):
        box = self.start()
        self.assertEqual((box.answer['ready'], box.answer['missing']), (False, ['userns']))

    def test_namespaces_are_taken_where_they_are(self):
        box = self.start(*self.ALLOWED, refuse=[])
        self.assertEqual(box.answer['strength'], 'userns+landlock+seccomp')

    def test_the_reference_job(self):
        result = self.run_code(CHART, preload='core')
        self.assertEqual((result.verdict, result.text, [artifact['name'] for artifact in result.artifacts]), ('ok', 'drawn\n', ['图.png']))
        self.assertEqual(result.end['strength'], 'landlock+seccomp')

    def test_inputs_and_both_names_of_the_work_folder(self):
        result = self.run_code('import os\nprint(os.listdir("."), open("/mnt/data/a.csv").read())\nopen("b.txt", "w").write("x")', files={'a.csv': b'1,2'})
        self.assertEqual((result.text, [artifact['name'] for artifact in result.artifacts]), ("['a.csv'] 1,2\n", ['b.txt']))

    def test_walls(self):
        result = self.run_code(
            f'{test_walls.PREAMBLE}\nimport socket\nprint(json.dumps([refused(f) for f in (socket.socket, os.fork, lambda: os.kill(os.getppid(), 9), lambda: os.kill(1, 9),'
            'lambda: os.listdir("/proc"), lambda: open("/proc/1/environ"), lambda: open("/proc/self/mem"), lambda: os.listdir("/"), lambda: open("/usr/x", "w"))]))')
        self.assertEqual(json.loads(result.text), ['EACCES', 'EPERM', 'EPERM', 'EPERM', 'EACCES', 'EACCES', 'EACCES', 'EACCES', 'EROFS'])

    def test_the_shared_folder_is_closed(self):
        box = self.start(*self.ALLOWED)
        self.assertTrue(box.answer.get('ready'), box.answer)
        result = box.run(f'{test_walls.PREAMBLE}\nprint(refused(lambda: open("/run/moli/ready.json")), refused(lambda: open("/run/moli/x", "w")))')
        self.assertEqual(result.text, 'EACCES EACCES\n')

    def test_limits(self):
        for code, limits, verdict in (
            ('x = []\nwhile True: x.append(bytearray(8 << 20))', {'memoryBytes': 100 * MIB}, 'memory_limit'),
            ('import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()', {'pids': 20}, 'pids_limit'),
            ('with open("f", "wb") as f:\n  while True: f.write(bytes(1 << 20))', {'diskBytes': 5 * MIB}, 'disk_limit'),
            ('import itertools\nfor i in itertools.count(): open(f"f{i}", "wb").write(bytes(1 << 20))', {'diskBytes': 5 * MIB}, 'disk_limit'),
            ('while True: pass', {'cpuSeconds': 1, 'wallSeconds': 60}, 'timeout_cpu'),
        ):
            with self.subTest(code):
                self.assertEqual(self.run_code(code, limits).verdict, verdict)

    def test_without_its_volumes(self):
        box = pod(*self.ALLOWED, refuse=['unshare'])
        self.addCleanup(box.close)
        self.assertEqual(box.answer['missing'], ['userns'])
        for text in box.answer['reasons'].values():
            self.assertIn('/workspace', text)
            self.assertIn('emptyDir', text)


class Advice(unittest.TestCase):
    def test_a_security_module_says_access_denied(self):
        zh, en = advice.pod_refused("PermissionError: [Errno 13] mount /: Permission denied")
        self.assertEqual(advice.pod_refused('PermissionError: [Errno 13] unshare 0x7e020000: Permission denied'), (zh, en))
        self.assertIn('AppArmor', zh)
        self.assertIn('appArmorProfile: {type: Localhost, localhostProfile: moli-sandbox}', en)
        self.assertIn('k8s/apparmor/moli-sandbox', en)
        with open(os.path.join(os.path.dirname(SANDBOX), 'k8s/apparmor/moli-sandbox'), encoding='ascii') as profile:
            self.assertRegex(profile.read(), r'(?m)^profile moli-sandbox ')
        self.assertIn('seLinuxOptions: {type: container_engine_t}', en)

    def test_a_filter_says_not_permitted(self):
        for text in advice.pod_refused('PermissionError: [Errno 1] unshare 0x7e020000: Operation not permitted'):
            self.assertIn('seccompProfile: {type: Localhost', text)


if __name__ == '__main__':
    unittest.main()
