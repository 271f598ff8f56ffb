"""The outer box: a file system of its own with nothing in it but Python, no network, no capability, and a user that is not root.

Steps, in the order of the functions: `stage_sources` binds what is needed where the caller can still reach it (root's home may be closed to
others), `give_up_root` leaves root for good, `enter` makes the namespaces and the file system, `seal` drops what is left.
"""
import os
import shutil
import signal

from . import syscalls as kernel

# Mount point of the box while it is built: it exists everywhere and everyone may pass through it. Only this mount namespace sees it.
BUILD = '/tmp'
SOURCES = f'{BUILD}/sources'
ROOT = f'{BUILD}/root'
INSIDE_ID = 1000
# Folders of the box. A run mounts its own memory file systems over the work folders; these are only the places.
FOLDERS = 'usr etc dev dev/shm proc tmp workspace mnt mnt/data opt opt/python opt/moli opt/fonts'.split()
DEVICES = 'null zero full random urandom'.split()
NAMESPACES = (
    kernel.CLONE_NEWUSER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWNET | kernel.CLONE_NEWCGROUP
)
QUIET = kernel.MS_NOSUID | kernel.MS_NODEV


def stage_sources(environment, program):
    """Binds the Python environment and the sandbox folder under the build mount. Needs a mount namespace of this process's own."""
    kernel.mount(None, '/', None, kernel.MS_REC | kernel.MS_PRIVATE)
    # Opened before the build mount covers /tmp: either folder may lie in it.
    sources = [(name, os.open(path, os.O_PATH | os.O_DIRECTORY)) for name, path in (('python', environment), ('moli', program))]
    kernel.mount('tmpfs', BUILD, 'tmpfs', QUIET, 'mode=755,size=4m')
    os.mkdir(SOURCES, 0o755)
    for name, descriptor in sources:
        os.mkdir(f'{SOURCES}/{name}', 0o755)
        kernel.mount(f'/proc/self/fd/{descriptor}', f'{SOURCES}/{name}', None, kernel.MS_BIND | kernel.MS_REC)
        os.close(descriptor)
    os.mkdir(ROOT, 0o755)


def be_first_when_memory_ends():
    """
    Where memory runs out, the kernel ends a process of the box before one of the machine or the keeper; among those of the box the largest, which is
    a program that allocates. Raising the score needs no privilege.
    """
    try:
        with open('/proc/self/oom_score_adj', 'w', encoding='ascii') as file:
            file.write('1000')
    except OSError:
        # A /proc that is not to be written: the kernel's own choice is left.
        pass


def give_up_root(uid):
    """Leaves root for good: own ids, no groups, no capability (they go with the ids), none to be had again."""
    os.chown(ROOT, uid, uid)
    kernel.drop_bounding_set()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.set_no_new_privileges()
    # A change of ids makes /proc/self root's; the maps of the user namespace are written there.
    kernel.set_dumpable(True)


def enter_namespaces():
    """New namespaces for this process and, for processes, its next child. The id inside is 1000 and never root."""
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(NAMESPACES)
    kernel.map_single_user(INSIDE_ID, uid, gid)


def build_root():
    """Builds the file system and makes it the root. In the first process of the new pid namespace."""
    kernel.mount(None, '/', None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount('tmpfs', ROOT, 'tmpfs', QUIET, 'mode=755,size=4m')
    for folder in FOLDERS:
        os.mkdir(f'{ROOT}/{folder}', 0o755)
    for link in ('bin', 'sbin', 'lib', 'lib64'):
        os.symlink(f'usr/{link}', f'{ROOT}/{link}')
    kernel.bind_read_only('/usr', f'{ROOT}/usr')
    kernel.bind_read_only(f'{SOURCES}/python', f'{ROOT}/opt/python')
    kernel.bind_read_only(f'{SOURCES}/moli', f'{ROOT}/opt/moli', no_exec=True)
    _write_etc()
    for device in DEVICES:
        open(f'{ROOT}/dev/{device}', 'w', encoding='ascii').close()
        kernel.mount(f'/dev/{device}', f'{ROOT}/dev/{device}', None, kernel.MS_BIND)
    for link, target in (('fd', '/proc/self/fd'), ('stdin', '/proc/self/fd/0'), ('stdout', '/proc/self/fd/1'), ('stderr', '/proc/self/fd/2')):
        os.symlink(target, f'{ROOT}/dev/{link}')
    _mount_proc()
    # The zygote keeps matplotlib's font list here; matplotlib insists on a folder it can write to.
    kernel.mount('tmpfs', f'{ROOT}/opt/fonts', 'tmpfs', QUIET | kernel.MS_NOEXEC, 'mode=755,size=8m')
    made = f'{SOURCES}/python/mpl'
    for name in os.listdir(made) if os.path.isdir(made) else ():
        shutil.copyfile(f'{made}/{name}', f'{ROOT}/opt/fonts/{name}')
    os.mkdir(f'{ROOT}/.old', 0o700)
    os.chdir(ROOT)
    kernel.pivot_root('.', '.old')
    os.chdir('/')
    kernel.unmount_lazy('/.old')
    os.rmdir('/.old')
    kernel.mount(None, '/', None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY | QUIET)
    kernel.libc.sethostname(b'sandbox', 7)


def _write_etc():
    """A small /etc: names for the one user, the loader's cache, the time zone, fonts and alternatives."""
    texts = {
        'passwd': f'sandbox:x:{INSIDE_ID}:{INSIDE_ID}::/workspace:/usr/sbin/nologin\n',
        'group': f'sandbox:x:{INSIDE_ID}:\n',
        'hosts': '127.0.0.1 localhost\n',
    }
    for name, text in texts.items():
        with open(f'{ROOT}/etc/{name}', 'w', encoding='ascii') as file:
            file.write(text)
    for name in ('ld.so.cache', 'localtime', 'matplotlibrc', 'mime.types'):
        if os.path.isfile(f'/etc/{name}'):
            shutil.copyfile(f'/etc/{name}', f'{ROOT}/etc/{name}')
    for name in ('fonts', 'alternatives'):
        if os.path.isdir(f'/etc/{name}'):
            os.mkdir(f'{ROOT}/etc/{name}')
            kernel.bind_read_only(f'/etc/{name}', f'{ROOT}/etc/{name}', no_exec=True)


def _mount_proc():
    """A fresh /proc that shows this box alone. Where the kernel refuses one (masked paths of a container), the outer one, for the monitors only."""
    try:
        kernel.mount('proc', f'{ROOT}/proc', 'proc', QUIET | kernel.MS_NOEXEC)
    except PermissionError:
        kernel.mount('/proc', f'{ROOT}/proc', None, kernel.MS_BIND | kernel.MS_REC)


def seal():
    """Drops every capability that the new user namespace gave, for good."""
    kernel.drop_bounding_set()
    kernel.drop_capabilities()
    kernel.set_no_new_privileges()
    kernel.set_parent_death_signal(signal.SIGKILL)
