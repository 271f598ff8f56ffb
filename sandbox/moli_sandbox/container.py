"""The cgroup of the container that a Pod's box lives in. A Pod serves one run, so what the kernel holds the container to, it holds the run to.

The files are the container's own and read-only (v1 and v2): no group can be made, but they say the limits, and whether the kernel ended or refused
something. Memory of the run alone is watched by its monitor, as where there are no cgroups.
"""
import os

from .cgroup import FILES_V1, FILES_V2
from .cgroup_tree import candidates, find_mounts, own_paths

# Counters that a monitor asks for a verdict; what the container has used includes the zygote and is no measure of the run.
EVENTS = ('memoryEvents', 'pidsEvents')
# v1 says "no limit" by a number near the largest that there is.
UNLIMITED = 1 << 60


def read(path):
    """Text of a file; empty where there is none."""
    try:
        with open(path, encoding='ascii') as file:
            return file.read().strip()
    except OSError:
        return ''


def number(text):
    """A limit in a file, or None for no limit."""
    return int(text) if text.isdigit() and int(text) < UNLIMITED else None


class Container:
    """`folders`: { controller: folder } of v1, { '': folder } of v2. Beside `limits` it has the methods of Trees that Groups asks for."""

    def __init__(self, folders):
        self.folders = folders
        self.unified = '' in folders
        self.limits = {'memoryBytes': number(self._text('memoryLimit')), 'pids': number(self._text('pidsLimit')), 'cpus': self._cpus()}

    def _path(self, name):
        controller, leaf = FILES_V1[name]
        return f'{self.folders[""]}/{FILES_V2[name]}' if self.unified else f'{self.folders.get(controller, "")}/{leaf}'

    def _text(self, name):
        return read(self._path(name))

    def _cpus(self):
        """Processors that the container may use, or None."""
        if self.unified:
            quota, _, period = read(f'{self.folders[""]}/cpu.max').partition(' ')
        else:
            folder = self.folders.get('cpu', '')
            quota, period = read(f'{folder}/cpu.cfs_quota_us'), read(f'{folder}/cpu.cfs_period_us')
        return round(int(quota) / int(period), 3) if quota.isdigit() and period.isdigit() else None

    def make(self, _name, _pid):
        """Descriptors of the files that the monitor of a run reads."""
        return {name: os.open(self._path(name), os.O_RDONLY | os.O_CLOEXEC) for name in EVENTS if os.path.exists(self._path(name))}

    def drop(self, _name):
        """Nothing was made."""
        return True

    def remove(self):
        """Nothing was made."""


def open_container():
    """The container's group, or None where the kernel holds no memory limit for it (or shows none)."""
    try:
        mounts, paths = find_mounts(), own_paths()
    except OSError:
        return None
    controllers = ('memory', 'pids', 'cpu') if 'memory' in mounts else ('',)
    folders = {}
    for controller in controllers:
        if controller in mounts:
            found = candidates(mounts[controller], paths.get(controller, '/'))
            if found:
                folders[controller] = found[0]
    if not folders:
        return None
    container = Container(folders)
    return container if container.limits['memoryBytes'] is not None else None
