"""The launcher's side of cgroups, on folders that stand for a tree."""
import os
import subprocess
import tempfile

from moli_sandbox import cgroup, cgroup_tree
from support import SYSTEM_PYTHON, unittest


class Trees(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make(self, name):
        path = os.path.join(self.folder, name)
        os.makedirs(path)
        return path

    def test_candidates(self):
        own = self.make('system/moli')
        self.assertEqual(cgroup_tree.candidates((self.folder, '/'), '/system/moli'), [own, self.folder])
        self.assertEqual(cgroup_tree.candidates((self.folder, '/'), '/'), [self.folder])
        # In a container the mount shows a part of the tree.
        self.assertEqual(cgroup_tree.candidates((self.folder, '/docker/x'), '/docker/x/system/moli'), [own, self.folder])
        self.assertEqual(cgroup_tree.candidates((self.folder, '/'), '/gone'), [self.folder])

    def test_sweep_takes_what_the_dead_left(self):
        child = subprocess.Popen([SYSTEM_PYTHON, '-c', 'pass'])
        child.wait()
        gone = f'moli-{child.pid}-1'
        mine = f'moli-{os.getpid()}-{cgroup_tree.start_time(os.getpid())}'
        reused = f'moli-{os.getpid()}-1'
        for name in (gone, mine, reused, 'moli-x', 'other'):
            self.make(f'{name}/run-1')
        cgroup_tree.sweep(self.folder)
        self.assertEqual(sorted(os.listdir(self.folder)), sorted([mine, 'moli-x', 'other']))

    def test_sweep_leaves_what_a_launcher_in_another_pid_namespace_holds(self):
        # Its pid means nothing here, or is somebody else's.
        held, dead = f'moli-{1 << 22}-1', f'moli-{os.getpid()}-1'
        for name in (held, dead):
            self.make(f'{name}/run-1')
        descriptor = cgroup_tree.lock(os.path.join(self.folder, held))
        cgroup_tree.sweep(self.folder)
        self.assertEqual(os.listdir(self.folder), [held])
        os.close(descriptor)
        cgroup_tree.sweep(self.folder)
        self.assertEqual(os.listdir(self.folder), [])

    def test_start_time(self):
        self.assertGreater(cgroup_tree.start_time(os.getpid()), cgroup_tree.start_time(1))
        self.assertIsNone(cgroup_tree.start_time(1 << 22))

    def test_where_nothing_is_writable(self):
        class Options:
            no_cgroups = True

        self.assertIsNone(cgroup_tree.open_trees(Options))


class RunGroups(unittest.TestCase):
    def group(self, **contents):
        descriptors = {}
        for name, text in contents.items():
            file = tempfile.TemporaryFile()
            self.addCleanup(file.close)
            file.write(text)
            file.flush()
            descriptors[name] = file.fileno()
        return cgroup.RunGroup(descriptors)

    def test_numbers_and_events_of_both_versions(self):
        first = self.group(memoryNow=b'4096\n', memoryPeak=b'8192\n', memoryEvents=b'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n', pidsEvents=b'max 3\n')
        self.assertEqual((first.memory_bytes(), first.peak_bytes(), first.out_of_memory(), first.pids_refused()), (4096, 8192, True, True))
        second = self.group(memoryNow=b'4096\n', memoryEvents=b'low 0\nhigh 0\nmax 7\noom 0\noom_kill 0\noom_group_kill 0\n', pidsEvents=b'max 0\n')
        self.assertEqual((second.memory_bytes(), second.peak_bytes(), second.out_of_memory(), second.pids_refused()), (4096, 0, False, False))

    def test_limits_are_written(self):
        group = self.group(memoryLimit=b'', pidsLimit=b'')
        group.limit(1000, 7)
        self.assertEqual((group._read('memoryLimit'), group._read('pidsLimit')), (b'1000', b'7'))


if __name__ == '__main__':
    unittest.main()
