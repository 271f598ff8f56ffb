"""A box without namespaces, for a Pod on a node that refuses them; only where `--min-strength` does not ask for `userns`.

Landlock and seccomp are what is left: which files a run may open and which calls it may make. Runs would share folders, so there is one: the Pod's
own. What the walls of a run were made of otherwise has to come with the Pod: each work folder an in-memory volume of its own.
"""
import os
import resource
import shutil

from . import landlock
from .isolation import PRIVATE_FOLDERS, READABLE, WORK, WORK_ALIAS, WRITABLE, Isolation, set_resource_limits

# Signals to processes outside of the run are closed since this version (Linux 6.12): without it a program could end its own monitor.
SIGNALS_SCOPED = 6
# matplotlib's font list; the box has a folder of its own for it otherwise.
FONTS = '/tmp/fonts'


def faults():
    """[(zh, en)] of what keeps this place from being a box without namespaces; empty when all is there."""
    found = []
    if landlock.version() < SIGNALS_SCOPED:
        found.append(('内核的 Landlock 版本太旧（需要 Linux 6.12）', 'the Landlock of the kernel is too old (Linux 6.12 is needed)'))
    memory = memory_mounts()
    missing = [folder for folder in (*PRIVATE_FOLDERS, WORK_ALIAS) if folder not in memory or not os.access(folder, os.W_OK)]
    if missing:
        words = ', '.join(missing)
        found.append((f'这些目录不是可写的内存卷（emptyDir，medium: Memory）：{words}', f'these folders are no writable in-memory volumes (emptyDir, medium: Memory): {words}'))
    elif not os.path.samefile(WORK, WORK_ALIAS):
        found.append((f'{WORK_ALIAS} 和 {WORK} 必须是同一个卷', f'{WORK_ALIAS} and {WORK} have to be the same volume'))
    elif os.listdir(WORK):
        found.append((f'{WORK} 不是空的', f'{WORK} is not empty'))
    return found


def memory_mounts():
    """Places where a memory file system is mounted."""
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        lines = [line.partition(' - ') for line in file]
    return {fields.split()[4] for fields, _, rest in lines if rest.split()[0] == 'tmpfs'}


def lay_out(environment):
    """Puts the font list where a process can write beside it."""
    made = f'{environment}/mpl'
    os.makedirs(FONTS, 0o755, exist_ok=True)
    for name in os.listdir(made) if os.path.isdir(made) else ():
        shutil.copyfile(f'{made}/{name}', f'{FONTS}/{name}')


def clear():
    """Takes away what the first run left in the folder that the next one gets."""
    for name in os.listdir(WORK):
        os.unlink(f'{WORK}/{name}')


class PlainIsolation(Isolation):
    """Landlock and seccomp alone."""

    def prepare(self):
        self.ruleset = landlock.build_ruleset(READABLE, WRITABLE)
        self.layers += ['landlock', 'seccomp']
        os.chdir(WORK)

    def resize(self, disk_bytes):
        """The volumes have their size from the Pod; the kernel holds single files to the job's, the monitor all of them together."""
        resource.setrlimit(resource.RLIMIT_FSIZE, (disk_bytes, disk_bytes))

    def limit(self, limits):
        # Threads are counted over all processes of this user on the node: the monitor counts those of the run.
        set_resource_limits({**limits, 'pids': resource.getrlimit(resource.RLIMIT_NPROC)[1]})
