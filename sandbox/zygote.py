"""One generation: a zygote that imports what user code will want and forks a program for each run, and beside it the nursery of the monitors.

Started by init.py inside the outer box with an environment built from nothing; its argument is JSON:
{ listener, retire, keeper, report, slots, preload, once, plain, generationRuns }. The descriptors are inherited.
"""
import functools
import gc
import json
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from moli_sandbox import isolation, nursery, plain, preload, report, slots, snapshot  # noqa: E402
from moli_sandbox import syscalls as kernel  # noqa: E402


def main():
    """This process stays the nursery; the zygote is its grandchild, first in a pid namespace of its own."""
    options = json.loads(sys.argv[1])
    if options['once']:
        # A Pod loads the libraries for a single run: collecting meanwhile and at the end would cost 0.15 s for 1 MB. Where many runs follow, what is
        # collected early leaves the heap closer together, and each run copies fewer pages.
        gc.disable()
    report.report_to(options['report'])
    # No process of the same uid may look into this one; all that are forked from it inherit that.
    kernel.set_dumpable(False)
    keeper = socket.socket(fileno=options['keeper']) if options['keeper'] >= 0 else None
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    programs, announcements = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    between = os.fork()
    if between == 0:
        ours.close()
        programs.close()
        # Before the imports: a library may start threads, and then the kernel refuses.
        if not options['plain']:
            isolation.new_user_namespace(kernel.CLONE_NEWPID)
        if os.fork() == 0:
            become_zygote(options, theirs, announcements, keeper)
        os._exit(0)
    os.waitpid(between, 0)
    theirs.close()
    announcements.close()
    keep_what_is_loaded()
    listener = socket.socket(fileno=options['listener'])
    nursery.Nursery(ours, programs, listener, options['retire'], keeper is not None, options['slots'] + slots.SPARE_SLOTS).serve()


def keep_what_is_loaded():
    """What is there now stays: the collector would only touch pages that the forked processes share. Programs switch it on again."""
    if gc.isenabled():
        gc.collect()
    gc.freeze()
    gc.disable()
    # Else the first large allocation after each fork sorts the free pieces of the heap, and with that copies its pages.
    kernel.libc.malloc_trim(0)


def refuse_shared_memory():
    """What one program writes there the next would read; a library that makes such memory at its import can't be preloaded."""
    shared = snapshot.shared_mappings()
    if shared:
        report.report('zygote-failed', reason=f'a preloaded library shares memory with what is forked: {shared[0]}')
        os._exit(1)


def become_zygote(options, nursery_socket, announcements, keeper):
    """Never returns. It needs its own pid namespace to be able to make one for each run; when it dies, its programs die."""
    os.close(options['listener'])
    preload.load(options['preload'])
    refuse_shared_memory()
    kind = plain.PlainIsolation if options['plain'] else isolation.Isolation
    walls = functools.partial(kind, isolation.compile_for_this_machine())
    pool = slots.Pool(nursery_socket, announcements, options['retire'], keeper, options['slots'], walls, options['once'], options['plain'])
    pool.generation_runs = options['generationRuns']
    keep_what_is_loaded()
    if not options['once']:
        # Two forks do not pay for it.
        kernel.set_dumpable(True)
        pool.image_bytes = snapshot.take()
        kernel.set_dumpable(False)
    try:
        pool.serve()
    finally:
        os._exit(0)


if __name__ == '__main__':
    main()
