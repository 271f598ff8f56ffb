"""Runs a command as a container of a `restricted` Pod would: for tests on a machine without a cluster. Needs root, and gives it up.

    podlike.py STATE JSON COMMAND…        JSON: { memoryBytes?, refuse?, image? }

Own pid, mount, ipc, uts and network namespaces; a /proc with masked paths (so that a fresh one can't be mounted); a read-only root but for STATE;
user and group 10001; no capability; no new privileges; the committed seccomp profile, without the calls in `refuse`; a memory cgroup if one is asked
for. `image`: { path: folder of this machine } of what the image holds; then the root is nothing else, with in-memory volumes for work folders and
STATE at /run/moli. What it is not: containerd, kubelet, AppArmor.
"""
import json
import os
import platform
import signal
import sys

SANDBOX = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SANDBOX)
sys.dont_write_bytecode = True

from moli_sandbox import cgroup_tree, seccomp  # noqa: E402
from moli_sandbox import syscalls as kernel  # noqa: E402

PROFILE = os.path.join(os.path.dirname(SANDBOX), 'k8s', 'seccomp', 'moli-sandbox.json')
USER = 10001
# The runtime's answer to calls that no profile can know.
NEWEST_KNOWN_CALL = 450
MASKED = ('/proc/acpi', '/proc/scsi', '/proc/irq')


def profile(refuse=()):
    """The committed profile as `seccomp` compiles it, without some calls."""
    policy = {'newestKnownSyscall': NEWEST_KNOWN_CALL, **seccomp.load_policy(PROFILE)}
    rules = [{**rule, 'names': [name for name in rule['names'] if name not in refuse]} for rule in policy['syscalls']]
    return {**policy, 'syscalls': rules}


def memory_group(size):
    """Folder of a new group with a memory limit (v1 or v2); fails where none can be made."""
    mounts, paths = cgroup_tree.find_mounts(), cgroup_tree.own_paths()
    controller, leaf = ('memory', 'memory.limit_in_bytes') if 'memory' in mounts else ('', 'memory.max')
    folder = f'{cgroup_tree.candidates(mounts[controller], paths[controller])[0]}/podlike-{os.getpid()}'
    os.mkdir(folder)
    cgroup_tree.write(f'{folder}/{leaf}', str(size))
    return folder


def build_image(state, image):
    """A root with the system of this machine, the folders of the image and in-memory volumes, in place of the machine's."""
    root = '/mnt'
    kernel.mount('tmpfs', root, 'tmpfs', 0, 'mode=755')
    for folder in ('usr', 'etc', 'dev', 'proc', 'sys', 'tmp', 'workspace', 'mnt/data', 'run/moli', 'old', *(path.lstrip('/') for path in image)):
        os.makedirs(f'{root}/{folder}', exist_ok=True)
    for link in ('bin', 'sbin', 'lib', 'lib64'):
        os.symlink(f'usr/{link}', f'{root}/{link}')
    for path in ('/dev', '/proc', '/sys'):
        kernel.mount(path, f'{root}{path}', None, kernel.MS_BIND | kernel.MS_REC)
    for path, folder in {'/usr': '/usr', '/etc': '/etc', **image}.items():
        kernel.bind_read_only(folder, f'{root}{path}')
    for folder in ('tmp', 'workspace', 'dev/shm'):
        kernel.mount('tmpfs', f'{root}/{folder}', 'tmpfs', 0, 'mode=1777,size=64m')
    kernel.mount(f'{root}/workspace', f'{root}/mnt/data', None, kernel.MS_BIND)
    kernel.mount(state, f'{root}/run/moli', None, kernel.MS_BIND)
    os.chdir(root)
    kernel.pivot_root('.', 'old')
    os.chdir('/')
    kernel.unmount_lazy('/old')


def become_container(state, options):
    """In the first process of the new pid namespace."""
    code = seccomp.compile_policy(profile(options.get('refuse', ())), platform.machine())
    kernel.mount(None, '/', None, kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount('proc', '/proc', 'proc', kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    for path in filter(os.path.isdir, MASKED):
        kernel.mount('tmpfs', path, 'tmpfs', kernel.MS_RDONLY)
    if 'image' in options:
        build_image(state, options['image'])
    else:
        kernel.mount(state, state, None, kernel.MS_BIND)
    kernel.mount(None, '/', None, kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)
    kernel.drop_bounding_set()
    os.setgroups([USER])
    os.setresgid(USER, USER, USER)
    os.setresuid(USER, USER, USER)
    kernel.set_no_new_privileges()
    kernel.install_seccomp(code)


def main(state, options, command):
    os.chmod(os.path.dirname(state), 0o711)
    # As the kubelet makes an emptyDir with fsGroup.
    os.chown(state, 0, USER)
    os.chmod(state, 0o2777)
    group = memory_group(options['memoryBytes']) if 'memoryBytes' in options else None
    kernel.unshare(kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWNET)
    child = os.fork()
    if child == 0:
        if group:
            cgroup_tree.write(f'{group}/cgroup.procs', '0')
        kernel.set_parent_death_signal(signal.SIGKILL)
        become_container(state, options)
        os.execv(command[0], command)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGTERM))
    _, status = os.waitpid(child, 0)
    if group:
        cgroup_tree.remove_all(group)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == '__main__':
    main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:])
