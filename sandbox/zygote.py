"""The zygote: imports what user code will want, warms what is lazy, then forks one single-use slot for each run.

Started by box.py inside the outer box with an environment built from nothing; its argument is JSON:
{ listener, retire, keeper, report, slots, namespaces, preload }. The descriptors are inherited.
"""
import gc
import json
import os
import signal
import socket
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from moli_sandbox import isolation, preload, report, slots  # noqa: E402
from moli_sandbox import syscalls as kernel  # noqa: E402


def main():
    options = json.loads(sys.argv[1])
    report.report_to(options['report'])
    kernel.set_parent_death_signal(signal.SIGKILL)
    # No process of the same uid may look into this one; the monitors inherit it.
    kernel.set_dumpable(False)
    preload.load(options['preload'])
    pool = slots.Pool(
        socket.socket(fileno=options['listener']),
        options['retire'],
        socket.socket(fileno=options['keeper']) if options['keeper'] >= 0 else None,
        options['slots'],
        isolation.compile_for_this_machine(),
        options['namespaces'],
    )
    # What is loaded now stays: the collector would only touch pages that the slots share.
    gc.collect()
    gc.freeze()
    pool.serve()


if __name__ == '__main__':
    main()
