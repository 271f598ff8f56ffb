"""Landlock: which files a run may open, held by the kernel whatever else goes wrong (linux/landlock.h)."""
import ctypes
import os
import stat
import struct

from .syscalls import LANDLOCK_ADD, LANDLOCK_CREATE, LANDLOCK_RESTRICT, check, libc, set_no_new_privileges

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
MAKE_CHAR, MAKE_SOCK, MAKE_FIFO, MAKE_BLOCK = 1 << 6, 1 << 9, 1 << 10, 1 << 11
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
# Rights that make sense on something that is not a folder; others there are an EINVAL.
FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
READ = READ_FILE | READ_DIR
NOT_FOR_USER_CODE = EXECUTE | MAKE_CHAR | MAKE_SOCK | MAKE_FIFO | MAKE_BLOCK | IOCTL_DEVICE
# Rights known by version of the kernel's interface: 13 in the first, then REFER, TRUNCATE, (network), IOCTL_DEV.
RIGHTS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15}
NET_TCP = 3
SCOPES = 3


def version():
    """Version of the kernel's Landlock; 0 when there is none."""
    found = libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)
    return max(found, 0)


def build_ruleset(readable, writable):
    """A ruleset that lets `readable` paths be read and `writable` ones be changed; absent paths are passed over. Returns its descriptor."""
    found = version()
    if found == 0:
        raise OSError('the kernel has no Landlock')
    handled = (1 << RIGHTS_BY_VERSION.get(found, 16)) - 1
    fields = [handled]
    if found >= 4:
        fields.append(NET_TCP)
    if found >= 6:
        fields.append(SCOPES)
    packed = struct.pack('Q' * len(fields), *fields)
    ruleset = check(libc.syscall(LANDLOCK_CREATE, ctypes.create_string_buffer(packed, len(packed)), ctypes.c_size_t(len(packed)), 0), 'landlock_create_ruleset')
    for path in readable:
        _allow(ruleset, path, READ & handled)
    for path in writable:
        _allow(ruleset, path, handled & ~NOT_FOR_USER_CODE)
    return ruleset


def _allow(ruleset, path, rights):
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= FILE_RIGHTS
    # struct landlock_path_beneath_attr is packed: 12 bytes.
    rule = ctypes.create_string_buffer(struct.pack('=Qi', rights, descriptor), 12)
    check(libc.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0), f'landlock_add_rule {path}')
    os.close(descriptor)


def restrict(ruleset):
    """Binds this thread, and the threads it starts, to the ruleset for good."""
    set_no_new_privileges()
    check(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0), 'landlock_restrict_self')
    os.close(ruleset)
