"""System calls that Python has no function for, through ctypes. Each raises OSError with the name of what failed.

Flags and numbers are those of the kernel headers (linux/sched.h, linux/mount.h, linux/prctl.h, linux/capability.h).
"""
import ctypes
import errno
import os
import platform
import struct

from . import syscall_numbers

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 4096, 0x4000, 1 << 18
MNT_DETACH = 2
MOUNT_ATTR_RDONLY, MOUNT_ATTR_NOSUID, MOUNT_ATTR_NODEV, MOUNT_ATTR_NOEXEC = 1, 2, 4, 8
AT_RECURSIVE = 0x8000
AT_FDCWD = -100

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 1, 4, 24, 38, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
CAPABILITY_VERSION_3 = 0x20080522
# More than any kernel has capabilities (CAP_CHECKPOINT_RESTORE is 40): their sets are 64 bits.
CAPABILITY_COUNT = 64

NUMBERS = syscall_numbers.NUMBERS.get(platform.machine(), {})
# Since 5.1 numbers are the same on every architecture.
MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 442, 444, 445, 446

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def check(result, what):
    """Turns a C result into an OSError with the text of errno."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f'{what}: {os.strerror(code)}')
    return result


def number_of(name):
    """Number of a call of NUMBERS on this machine."""
    if name not in NUMBERS:
        raise OSError(errno.ENOSYS, f'{name}: machine {platform.machine()} is not supported')
    return NUMBERS[name]


def unshare(flags):
    """Moves this process (its next children, for pid) into new namespaces."""
    check(libc.unshare(flags), f'unshare {flags:#x}')


def enter_namespace(descriptor, kind):
    """setns(2); for a pid namespace it is the next children that enter."""
    check(libc.setns(descriptor, kind), f'setns {kind:#x}')


def mount(source, target, kind, flags, data=None):
    """mount(2); strings or None."""
    check(
        libc.mount(source and source.encode(), target.encode(), kind and kind.encode(), ctypes.c_ulong(flags), data and data.encode()),
        f'mount {target}',
    )


def unmount_lazy(target):
    """Detaches a mount and everything under it."""
    check(libc.umount2(target.encode(), MNT_DETACH), f'umount {target}')


def pivot_root(new, old):
    """pivot_root(2)."""
    check(libc.syscall(number_of('pivot_root'), new.encode(), old.encode()), 'pivot_root')


def bind_read_only(source, target, no_exec=False):
    """Binds a folder or file with everything mounted under it, read-only, without setuid or devices."""
    mount(source, target, None, MS_BIND | MS_REC)
    attributes = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (MOUNT_ATTR_NOEXEC if no_exec else 0)
    if not add_mount_attributes(target, attributes):
        mount(None, target, None, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | (MS_NOEXEC if no_exec else 0))


def add_mount_attributes(target, attributes):
    """Gives a mount and all under it MOUNT_ATTR_* flags. False before 5.12, and under seccomp profiles that do not know the call."""
    packed = ctypes.create_string_buffer(struct.pack('QQQQ', attributes, 0, 0, 0), 32)
    return libc.syscall(MOUNT_SETATTR, AT_FDCWD, target.encode(), AT_RECURSIVE, packed, ctypes.c_size_t(32)) == 0


def set_parent_death_signal(number):
    """The kernel sends this signal when the parent dies. A change of uid clears it: call again after one."""
    check(libc.prctl(PR_SET_PDEATHSIG, ctypes.c_ulong(number), 0, 0, 0), 'prctl PDEATHSIG')


def set_dumpable(on):
    """Off: no process of the same uid may trace this one or read its memory."""
    check(libc.prctl(PR_SET_DUMPABLE, ctypes.c_ulong(1 if on else 0), 0, 0, 0), 'prctl DUMPABLE')


def set_no_new_privileges():
    """From here on no exec can gain a privilege; needed for Landlock and seccomp without one."""
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), 0, 0, 0), 'prctl NO_NEW_PRIVS')


def drop_bounding_set():
    """Empties the capability bounding set; needs CAP_SETPCAP, so before the other sets are emptied."""
    for capability in range(CAPABILITY_COUNT):
        if libc.prctl(PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0):
            # EINVAL: the kernel has no more. EPERM: none may be dropped.
            break


def drop_capabilities():
    """Empties the ambient, effective, permitted and inheritable sets."""
    libc.prctl(PR_CAP_AMBIENT, ctypes.c_ulong(PR_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    check(libc.syscall(number_of('capset'), header, (ctypes.c_uint32 * 6)()), 'capset')


def map_single_user(inside, uid, gid):
    """Maps one id of the new user namespace to the ids held outside it."""
    for name, text in (('setgroups', 'deny'), ('uid_map', f'{inside} {uid} 1'), ('gid_map', f'{inside} {gid} 1')):
        with open(f'/proc/self/{name}', 'w', encoding='ascii') as file:
            file.write(text)


class _Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filter', ctypes.c_void_p)]


def install_seccomp(code):
    """Installs a BPF filter (8 bytes an instruction) on this thread. Speculation mitigations stay as the system has them."""
    buffer = ctypes.create_string_buffer(code, len(code))
    program = _Program(len(code) // 8, ctypes.addressof(buffer))
    check(libc.syscall(number_of('seccomp'), 1, 0, ctypes.byref(program)), 'seccomp')
