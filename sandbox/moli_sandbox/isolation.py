"""The walls around one run. `Isolation` is prepared while a slot waits and closed when its input files are in place, before user code begins."""
import errno
import os
import platform
import resource

from . import landlock, seccomp
from . import syscalls as kernel

WORK = '/workspace'
# Where models expect uploaded files; the same folder under a second path.
WORK_ALIAS = '/mnt/data'
PRIVATE_FOLDERS = (WORK, '/tmp', '/dev/shm')
# matplotlib's font list.
FONTS = '/opt/fonts'
READABLE = ('/usr', '/etc', '/lib', '/lib64', '/opt', '/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom')
WRITABLE = (WORK, WORK_ALIAS, '/tmp', '/dev/shm', '/dev/null')
FLAGS = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
# An empty file costs about 1 KiB of kernel memory: this bounds what a million of them can take.
MAX_FILES = 20_000
MAX_DESCRIPTORS = 512
# Address space, not memory: each thread's arena reserves 64 MiB of it. The cgroup or the monitor holds the memory limit.
MIN_ADDRESS_SPACE = 4 << 30
SECCOMP_POLICY = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'seccomp.json')
NAMESPACES = kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
# Size of the private file systems until the job names its own.
IDLE_BYTES = 64 << 20


def compile_for_this_machine():
    """BPF of seccomp.json for the machine this runs on."""
    return seccomp.compile_policy(seccomp.load_policy(SECCOMP_POLICY), platform.machine())


def new_user_namespace(others=0):
    """A user namespace nested in the one held, with the same single id in it, and `others` (CLONE_NEW* flags) owned by it."""
    uid, gid = os.getuid(), os.getgid()
    # /proc/self belongs to root while a process is not dumpable; the maps are written there.
    kernel.set_dumpable(True)
    kernel.unshare(kernel.CLONE_NEWUSER | others)
    kernel.map_single_user(uid, uid, gid)
    kernel.set_dumpable(False)


class Isolation:
    """Layers of one run. The pid namespace is there already: the program is its first process."""

    def __init__(self, filter_code):
        self.filter_code = filter_code
        self.ruleset = None
        self.layers = []

    def prepare(self):
        """Own user, mounts, ipc and host name; the Landlock ruleset. Runs trusted code only, while the slot waits."""
        new_user_namespace(NAMESPACES)
        kernel.mount(None, '/', None, kernel.MS_REC | kernel.MS_PRIVATE)
        self.freeze_what_is_shared()
        for folder in PRIVATE_FOLDERS:
            kernel.mount('tmpfs', folder, 'tmpfs', FLAGS, f'mode=700,size={IDLE_BYTES},nr_inodes={MAX_FILES}')
        kernel.mount(WORK, WORK_ALIAS, None, kernel.MS_BIND)
        kernel.mount('tmpfs', '/proc', 'tmpfs', FLAGS | kernel.MS_RDONLY, 'mode=555,size=4k')
        self.layers.append('userns')
        try:
            self.ruleset = landlock.build_ruleset(READABLE, WRITABLE)
            self.layers.append('landlock')
        except OSError as error:
            if error.errno not in (None, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
        # Installed in close(); a kernel that refuses it ends the slot.
        self.layers.append('seccomp')
        os.chdir(WORK)

    def freeze_what_is_shared(self):
        """
        Makes all that other runs see too read-only for this one. Landlock holds content alone: modes and times of the font list's folder, which is
        the zygote's to write to and belongs to the same user, a program could change for every run and every zygote after it.
        """
        if not kernel.add_mount_attributes('/', kernel.MOUNT_ATTR_RDONLY):
            kernel.mount(None, FONTS, None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | FLAGS)

    def resize(self, disk_bytes):
        """Gives the private file systems the size that the job asks for, in bytes each."""
        for folder in PRIVATE_FOLDERS:
            kernel.mount(None, folder, None, kernel.MS_REMOUNT | FLAGS, f'size={disk_bytes},nr_inodes={MAX_FILES}')

    def limit(self, limits):
        """What the kernel holds the process itself to."""
        set_resource_limits(limits)

    def close(self, limits):
        """Closes every wall for good; the next thing to run is user code. `limits` as in PROTOCOL.md."""
        self.limit(limits)
        kernel.drop_bounding_set()
        kernel.drop_capabilities()
        kernel.set_no_new_privileges()
        if self.ruleset is not None:
            landlock.restrict(self.ruleset)
        kernel.install_seccomp(self.filter_code)


def set_resource_limits(limits):
    """Limits that the kernel keeps for the process itself."""
    space = max(MIN_ADDRESS_SPACE, limits['memoryBytes'] + (2 << 30))
    cpu = int(limits['cpuSeconds']) + 1
    for name, soft, hard in (
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_NOFILE, MAX_DESCRIPTORS, MAX_DESCRIPTORS),
        (resource.RLIMIT_AS, space, space),
        (resource.RLIMIT_NPROC, limits['pids'], limits['pids']),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
        # The monitor ends a run at its CPU limit; this one is for a monitor that is not scheduled.
        (resource.RLIMIT_CPU, cpu, cpu + 1),
    ):
        resource.setrlimit(name, (soft, hard))
