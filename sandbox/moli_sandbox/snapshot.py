"""Moves what the zygote has loaded into a memory file that it maps privately in place of its own pages.

A fork copies the page tables of anonymous memory, entry by entry, and the end of a process takes them apart again. Of a private mapping of a file
that nobody has written to yet, a fork copies nothing. Programs find the same bytes at the same addresses and copy a page at the first write to it,
as ever. Nothing else has the file: its descriptor is closed, and it is sealed.

Copying a region and mapping the copy over it has to be one step. Python counts references in these very pages, so it may not run in between: two
contexts of makecontext(3) do it, the first of which ends in the second.
"""
import ctypes
import fcntl
import os

from . import syscalls as kernel

PAGE = os.sysconf('SC_PAGESIZE')
# An entry of /proc/self/pagemap: present or swapped, and whether the page is one of a file.
THERE, OF_FILE = 3 << 62, 1 << 61
# Untouched pages between two touched ones that are copied with them, as zeros: a mapping more costs as much as some pages.
MAX_GAP = 64
NAME = 'zygote'
MFD_NOEXEC_SEAL = 8
PROT_READ, PROT_WRITE, MAP_PRIVATE, MAP_FIXED, MAP_ANONYMOUS = 1, 2, 2, 16, 32
# More than a ucontext_t of any machine (968 bytes on x86_64, 4,560 on aarch64), and room for the C functions that run in one.
CONTEXT_BYTES, STACK_BYTES = 4 * PAGE, 16 * PAGE
# Words of a ucontext_t of every 64-bit Linux: flags, link, then the stack's place, flags, size.
LINK, STACK, STACK_SIZE = 1, 2, 4
# mallopt(3) and what glibc's own adaptation would end at.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4
LARGE_BLOCK, MANY_BLOCKS = 32 << 20, 65536


def take():
    """Moves all there is. Returns the bytes that lie in the file; 0 where the kernel or the libc has no such thing, or other threads run."""
    if not hasattr(kernel.libc, 'makecontext') or len(os.listdir('/proc/self/task')) > 1:
        return 0
    regions = list(find_regions())
    try:
        file = create_file()
    except OSError:
        return 0
    total = sum(last - first for first, last, _ in regions)
    os.posix_fallocate(file, 0, total)
    swap, offset = Swap(file), 0
    for first, last, protection in regions:
        swap.move(first, last - first, protection, offset)
        offset += last - first
    swap.close()
    fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SEAL)
    os.close(file)
    kernel.libc.mallopt(M_MMAP_MAX, MANY_BLOCKS)
    kernel.libc.mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK)
    kernel.libc.mallopt(M_TRIM_THRESHOLD, 2 * LARGE_BLOCK)
    return total


def create_file():
    """A memory file that can be sealed, and not run where the kernel can say so (6.3)."""
    try:
        return os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL)
    except OSError:
        return os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


def find_regions():
    """(first, last, protection) of all pages of this process's own that are no code and no stack, in the order of addresses."""
    thread = kernel.libc.pthread_self
    thread.restype = ctypes.c_ulong
    own = thread()
    with open('/proc/self/maps', encoding='ascii') as maps, open('/proc/self/pagemap', 'rb', buffering=0) as pages:
        for line in maps.read().splitlines():
            span, mode, _, _, inode, *name = line.split()
            first, last = (int(word, 16) for word in span.split('-'))
            # The kernel writes to the thread's own block whenever it likes (rseq).
            if mode not in ('rw-p', 'r--p') or first <= own < last or name and name[0].startswith('[') and name[0] != '[heap]':
                continue
            protection = PROT_READ | PROT_WRITE if mode == 'rw-p' else PROT_READ
            touched = [index for index, entry in enumerate(page_entries(pages, first, last)) if entry & THERE and not entry & OF_FILE]
            if touched and inode != '0':
                yield first, last, protection
            elif touched:
                yield from ((first + start * PAGE, first + end * PAGE, protection) for start, end in runs_of(touched))


def shared_mappings():
    """Lines of /proc/self/maps of memory that a child would share instead of copy and could write to."""
    with open('/proc/self/maps', encoding='utf-8', errors='replace') as maps:
        return [line.rstrip('\n') for line in maps if line.split()[1][1::2] == 'ws']


def page_entries(pages, first, last):
    return memoryview(os.pread(pages.fileno(), (last - first) // PAGE * 8, first // PAGE * 8)).cast('Q')


def runs_of(touched):
    """[(start, end)] of page numbers, rising; small gaps are closed."""
    runs = []
    for page in touched:
        if runs and page - runs[-1][1] <= MAX_GAP:
            runs[-1][1] = page + 1
        else:
            runs.append([page, page + 1])
    return runs


class Swap:
    """Replaces regions by mappings of `file`. The contexts and their stacks lie in a mapping of their own, which stays out of it."""

    def __init__(self, file):
        self.file = file
        libc = kernel.libc
        libc.mmap.restype = ctypes.c_void_p
        self.size = 3 * CONTEXT_BYTES + 2 * STACK_BYTES
        self.area = libc.mmap(None, ctypes.c_size_t(self.size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, ctypes.c_long(0))
        self.back, self.copying, self.mapping = (self.area + index * CONTEXT_BYTES for index in range(3))
        # Keeps the interpreter's lock: giving it away and taking it again would write to memory.
        self.swapcontext = ctypes.PyDLL(None).swapcontext

    def move(self, first, size, protection, offset):
        """One region. Neither call can fail half way: the file's pages are there already, and a mapping that is refused leaves the old one."""
        stack = self.area + 3 * CONTEXT_BYTES
        self.prepare(self.copying, stack, self.mapping, 'pwrite64', self.file, first, size, offset, 0, 0)
        self.prepare(self.mapping, stack + STACK_BYTES, self.back, 'mmap', first, size, protection, MAP_PRIVATE | MAP_FIXED, self.file, offset)
        self.swapcontext(ctypes.c_void_p(self.back), ctypes.c_void_p(self.copying))

    def prepare(self, context, stack, following, name, *arguments):
        """Makes a context that does one system call and goes on to the `following` one."""
        libc = kernel.libc
        libc.getcontext(ctypes.c_void_p(context))
        words = (ctypes.c_ulong * (STACK_SIZE + 1)).from_address(context)
        words[LINK], words[STACK], words[STACK_SIZE] = following, stack, STACK_BYTES
        numbers = [ctypes.c_long(value) for value in (kernel.number_of(name), *arguments)]
        libc.makecontext(ctypes.c_void_p(context), ctypes.cast(libc.syscall, ctypes.c_void_p), len(numbers), *numbers)

    def close(self):
        kernel.libc.munmap(ctypes.c_void_p(self.area), ctypes.c_size_t(self.size))
