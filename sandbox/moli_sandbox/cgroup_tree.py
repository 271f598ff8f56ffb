"""The launcher's side of cgroups: finds the trees that it may write to, makes a group a run, removes it after the run (v1 and v2)."""
import array
import errno
import fcntl
import json
import os
import signal
import socket
import struct
import time

from .cgroup import FILES_V1, FILES_V2, WRITTEN

PREFIX = 'moli-'
NEEDED = ('memory', 'pids')
WANTED = ('memory', 'pids', 'cpu')
# Microseconds of a period of the CPU quota: the kernel's own default.
CPU_PERIOD = 100_000
# How long an ended run's group may stay busy before it is left for the next sweep, in seconds.
REMOVAL_SECONDS = 2.0
CREDENTIALS = struct.Struct('3i')


def start_time(pid):
    """Moment that a process started, in clock ticks since boot (field 22 of /proc/PID/stat); None when there is none."""
    try:
        with open(f'/proc/{pid}/stat', encoding='utf-8', errors='replace') as file:
            return int(file.read().rpartition(')')[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


def find_mounts():
    """{ controller: (mount point, root of the mount) } for v1 and, under '', for v2."""
    mounts = {}
    with open('/proc/self/mountinfo', encoding='utf-8') as file:
        for line in file:
            fields, _, rest = line.rstrip('\n').partition(' - ')
            kind, _, options = rest.partition(' ')
            place = (fields.split()[4], fields.split()[3])
            if kind == 'cgroup2':
                mounts.setdefault('', place)
            elif kind == 'cgroup':
                for controller in options.split()[-1].split(','):
                    mounts.setdefault(controller, place)
    return mounts


def own_paths():
    """{ controller: path } of this process, '' for v2."""
    paths = {}
    with open('/proc/self/cgroup', encoding='utf-8') as file:
        for line in file:
            _, controllers, path = line.rstrip('\n').split(':', 2)
            for controller in controllers.split(','):
                paths[controller] = path
    return paths


def candidates(mount, path):
    """Folders to try: the own group's, then the top of the tree."""
    point, root = mount
    inside = path[len(root):] if root != '/' and path.startswith(root) else path if root == '/' else ''
    own = os.path.normpath(f'{point}/{inside}')
    return [folder for folder in dict.fromkeys((own, point)) if os.path.isdir(folder) and '/..' not in folder]


def write(path, text):
    """Writes a file of a tree; plain calls, since every run needs some ten of them."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


class Trees:
    """Folders that hold the groups of this box: { controller: folder }; for v2 all controllers share one."""

    def __init__(self, folders, unified, cpus):
        self.folders = folders
        self.unified = unified
        self.cpus = cpus
        self.locks = [lock(folder) for folder in folders.values()]

    def make(self, name, pid):
        """Makes a group with `pid` in it. Returns { name: descriptor } of the files that its monitor needs."""
        self._restore()
        for controller, folder in self.folders.items():
            path = f'{folder}/{name}'
            os.mkdir(path, 0o755)
            self._bound(controller, path)
        # Last: a program is in none of its groups or in all of them, and what failed half way is removed without harm to it.
        for folder in self.folders.values():
            write(f'{folder}/{name}/cgroup.procs', str(pid))
        descriptors = {}
        for file, (controller, leaf) in FILES_V1.items():
            folder = self.folders['' if self.unified else controller]
            try:
                path = f'{folder}/{name}/{FILES_V2[file] if self.unified else leaf}'
                descriptors[file] = os.open(path, (os.O_RDWR if file in WRITTEN else os.O_RDONLY) | os.O_CLOEXEC)
            except FileNotFoundError:
                # memory.peak came with 5.19; the monitor samples without it.
                continue
        return descriptors

    def _restore(self):
        """Makes a box's folder again when somebody removed it: runs go on as strong as before."""
        for at, folder in enumerate(self.folders.values()):
            if os.path.isdir(folder):
                continue
            os.mkdir(folder)
            if self.unified:
                delegate(folder)
            os.close(self.locks[at])
            self.locks[at] = lock(folder)

    def _bound(self, controller, path):
        """Fixes what does not depend on the job: no swap, and the share of the processors."""
        quota = int(self.cpus * CPU_PERIOD)
        for wanted, file, text in (
            ('', 'memory.swap.max', '0'), ('', 'memory.oom.group', '1'), ('', 'cpu.max', f'{quota} {CPU_PERIOD}'),
            ('memory', 'memory.swappiness', '0'), ('cpu', 'cpu.cfs_period_us', str(CPU_PERIOD)), ('cpu', 'cpu.cfs_quota_us', str(quota)),
        ):
            if wanted == controller and os.path.exists(f'{path}/{file}'):
                write(f'{path}/{file}', text)

    def drop(self, name):
        """Removes a group; False while something in it is still dying."""
        gone = True
        for folder in self.folders.values():
            gone = remove_group(f'{folder}/{name}') and gone
        return gone

    def remove(self):
        """Removes everything that this box made."""
        for folder in self.folders.values():
            remove_all(folder)


def remove_group(path):
    """Removes a group; kills what is still in it. True when it is gone."""
    if removed(path):
        return True
    try:
        with open(f'{path}/cgroup.procs', encoding='ascii') as file:
            for pid in file.read().split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except (ProcessLookupError, PermissionError):
                    pass
    except OSError as error:
        # ENODEV: somebody removed it between the opening and the reading.
        if error.errno not in (errno.ENOENT, errno.ENODEV):
            raise
    return removed(path)


def removed(path):
    """Tries to remove a group, which the kernel only does for an empty one; whether there is none any more."""
    try:
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_all(folder):
    """Removes a box's folder with all groups in it, waiting a moment for what is dying."""
    until = time.monotonic() + REMOVAL_SECONDS
    while True:
        try:
            names = [entry.name for entry in os.scandir(folder) if entry.is_dir()]
        except FileNotFoundError:
            return
        left = [name for name in names if not remove_group(f'{folder}/{name}')]
        if not left and remove_group(folder) or time.monotonic() > until:
            return
        time.sleep(0.01)


def lock(folder):
    """A lock on a box's folder that lasts as long as its launcher, and that launchers in other pid namespaces see too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def is_held(folder):
    """Whether a living launcher has this folder."""
    try:
        os.close(lock(folder))
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def sweep(folder):
    """
    Removes what boxes that died without a word left behind. A box's folder names its launcher: pid and start time. Another pid namespace (a
    container beside this one) counts pids anew, so the lock has the last word.
    """
    for entry in os.scandir(folder):
        parts = entry.name.split('-')
        if not entry.name.startswith(PREFIX) or len(parts) != 3 or not parts[1].isdigit():
            continue
        if str(start_time(int(parts[1]))) != parts[2] and not is_held(entry.path):
            remove_all(entry.path)


def open_trees(options):
    """The trees to work in, swept of leftovers; None where none is writable or none is wanted."""
    if options.no_cgroups:
        return None
    try:
        mounts, paths = find_mounts(), own_paths()
    except OSError:
        return None
    name = f'{PREFIX}{os.getpid()}-{start_time(os.getpid())}'
    if all(controller in mounts and controller in paths for controller in NEEDED):
        return open_v1(mounts, paths, name, options.cpus)
    if '' in mounts:
        return open_v2(mounts[''], paths.get('', '/'), name, options.cpus)
    return None


def open_v1(mounts, paths, name, cpus):
    folders = {}
    for controller in WANTED:
        for folder in candidates(mounts[controller], paths[controller]) if controller in mounts else ():
            try:
                sweep(folder)
                os.mkdir(f'{folder}/{name}')
            except OSError:
                continue
            folders[controller] = f'{folder}/{name}'
            break
    if all(controller in folders for controller in NEEDED):
        return Trees(folders, False, cpus)
    for folder in folders.values():
        remove_all(folder)
    return None


def open_v2(mount, path, name, cpus):
    for folder in candidates(mount, path):
        base = f'{folder}/{name}'
        try:
            sweep(folder)
            os.mkdir(base)
            if not has_controllers(base):
                # Refused while the group itself holds processes, except at the top: then the next candidate is tried.
                write(f'{folder}/cgroup.subtree_control', '+memory +pids +cpu')
            if has_controllers(base):
                delegate(base)
                return Trees({'': base}, True, cpus)
        except OSError:
            pass
        remove_all(base)
    return None


def delegate(base):
    """Lets the groups below a box's folder have its controllers (v2)."""
    write(f'{base}/cgroup.subtree_control', ' '.join(f'+{controller}' for controller in WANTED if controller in controllers_of(base)))


def controllers_of(folder):
    with open(f'{folder}/cgroup.controllers', encoding='ascii') as file:
        return file.read().split()


def has_controllers(folder):
    return all(controller in controllers_of(folder) for controller in NEEDED)


class Groups:
    """Answers requests from slots. A slot sends one message on `requests` with a socket for the answer; the socket's closing ends its group."""

    def __init__(self, trees, requests, log):
        self.trees = trees
        self.requests = requests
        self.log = log
        self.live = {}
        self.dying = {}
        self.count = 0

    def hear(self, descriptor):
        """Something came on `requests`, or an answer socket closed."""
        if descriptor == self.requests.fileno():
            self.answer()
        else:
            reply, name = self.live.pop(descriptor)
            reply.close()
            self.dying[name] = time.monotonic() + REMOVAL_SECONDS
        self.remove_dead()

    def answer(self):
        data, ancillary, _, _ = self.requests.recvmsg(64, socket.CMSG_SPACE(CREDENTIALS.size) + socket.CMSG_SPACE(4))
        pid, descriptors = None, array.array('i')
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
                pid = CREDENTIALS.unpack(payload[:CREDENTIALS.size])[0]
            elif level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                descriptors.frombytes(payload[: len(payload) // 4 * 4])
        if data != b'attach' or not pid or len(descriptors) != 1:
            for descriptor in descriptors:
                os.close(descriptor)
            return
        reply = socket.socket(fileno=descriptors[0])
        self.count += 1
        name = f'run-{self.count}'
        files = {}
        try:
            files = self.trees.make(name, pid)
            socket.send_fds(reply, [json.dumps(list(files)).encode()], list(files.values()))
        except OSError as error:
            self.log('warn', 'no cgroup for a slot', error=str(error))
            self.trees.drop(name)
            # The slot learns that it has none; whether that is enough is for the asked-for strength to say.
            try:
                reply.send(b'[]')
            except OSError:
                pass
        finally:
            for descriptor in files.values():
                os.close(descriptor)
        self.live[reply.fileno()] = (reply, name)

    def remove_dead(self):
        """Removes the groups of ended runs; those still busy are tried again."""
        for name, until in list(self.dying.items()):
            if self.trees.drop(name) or time.monotonic() > until:
                del self.dying[name]

    def close(self):
        for reply, _ in self.live.values():
            reply.close()
        self.live.clear()
