"""What a container's cgroup files say, on folders that stand for a container's tree."""
import os
import tempfile

from support import unittest

from moli_sandbox import cgroup, container


class Files(unittest.TestCase):
    def folder(self, **files):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        for name, text in files.items():
            with open(os.path.join(made.name, name.replace('__', '.')), 'w', encoding='ascii') as file:
                file.write(text)
        return made.name

    def group(self, found):
        """As a monitor gets it."""
        descriptors = found.make('run-1', 1)
        for descriptor in descriptors.values():
            self.addCleanup(os.close, descriptor)
        return cgroup.RunGroup(descriptors)

    def test_unified(self):
        folder = self.folder(
            memory__max='536870912\n', pids__max='256\n', cpu__max='150000 100000\n', memory__events='low 0\noom 1\noom_kill 1\n', pids__events='max 0\n', memory__current='5\n')
        found = container.Container({'': folder})
        self.assertEqual(found.limits, {'memoryBytes': 512 << 20, 'pids': 256, 'cpus': 1.5})
        group = self.group(found)
        self.assertEqual((group.out_of_memory(), group.pids_refused()), (True, False))
        # The container's own use holds the zygote's: it says nothing of the run.
        self.assertEqual((group.memory_bytes(), group.peak_bytes()), (0, 0))

    def test_unified_without_limits(self):
        found = container.Container({'': self.folder(memory__max='max\n', pids__max='max\n', cpu__max='max 100000\n')})
        self.assertEqual(found.limits, {'memoryBytes': None, 'pids': None, 'cpus': None})

    def test_one_tree_for_each_controller(self):
        memory = self.folder(memory__limit_in_bytes='268435456\n', memory__oom_control='oom_kill_disable 0\nunder_oom 0\noom_kill 2\n')
        cpu = self.folder(cpu__cfs_quota_us='50000\n', cpu__cfs_period_us='100000\n')
        found = container.Container({'memory': memory, 'pids': self.folder(pids__max='max\n', pids__events='max 3\n'), 'cpu': cpu})
        self.assertEqual(found.limits, {'memoryBytes': 256 << 20, 'pids': None, 'cpus': 0.5})
        group = self.group(found)
        self.assertEqual((group.out_of_memory(), group.pids_refused()), (True, True))

    def test_no_limit_in_the_first_version_is_a_large_number(self):
        memory = self.folder(memory__limit_in_bytes='9223372036854771712\n')
        cpu = self.folder(cpu__cfs_quota_us='-1\n', cpu__cfs_period_us='100000\n')
        self.assertEqual(container.Container({'memory': memory, 'cpu': cpu}).limits, {'memoryBytes': None, 'pids': None, 'cpus': None})

    def test_the_limits_of_a_run_are_not_written_to_the_container(self):
        found = container.Container({'': self.folder(memory__max='1000\n', memory__events='oom_kill 0\n')})
        self.group(found).limit(1, 1)
        self.assertEqual(found.limits['memoryBytes'], 1000)
        self.assertTrue(found.drop('run-1'))


if __name__ == '__main__':
    unittest.main()
