#!/usr/bin/python3
"""Starts the outer box of the sandbox and stays beside it as its keeper.

    /usr/bin/python3 sandbox/box.py --python VENV/bin/python --state DIR --slots N [--uid U] [--min-strength userns+landlock+seccomp]
    /usr/bin/python3 sandbox/box.py --python VENV/bin/python --probe
    /usr/bin/python3 sandbox/box.py --python VENV/bin/python --state /run/moli --pod

With --pod it is the container `sandbox` of a Pod: one run, then it ends; /run/moli/ready.json says what stdout says. Runners connect to DIR/zygote.sock (PROTOCOL.md). One JSON line on stdout says that it is ready, or why not (exit status 3); log lines go to stderr
as JSON. It ends, with everything inside, on SIGTERM, when its parent dies, and when a pipe on its stdin closes.
"""
import sys

sys.dont_write_bytecode = True

import argparse  # noqa: E402
import os  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from moli_sandbox.keeper import Keeper  # noqa: E402
from moli_sandbox.pod import PodKeeper  # noqa: E402


def parse(arguments):
    """The command line."""
    parser = argparse.ArgumentParser(description='Start the sandbox of Moli.')
    parser.add_argument('--python', required=True, help='interpreter of the environment that install.py made')
    parser.add_argument('--state', help='folder for the socket; made by the caller, closed to others')
    parser.add_argument('--slots', type=int, default=2, help='runs at the same time (default: %(default)s)')
    parser.add_argument('--uid', type=int, default=64001, help='user to become when started by root (default: %(default)s)')
    parser.add_argument('--min-strength', default='userns+landlock+seccomp', help='refuse to start with less; without userns a Pod may do without namespaces (default: %(default)s)')
    parser.add_argument('--profile', choices=['python'], default='python', help='kind of slot (default: %(default)s)')
    parser.add_argument('--cpus', type=float, default=1.0, help='processors that one run may use, where cgroups are writable (default: %(default)s)')
    parser.add_argument('--no-cgroups', action='store_true', help='do without cgroups even where they are writable')
    parser.add_argument('--preload', choices=['none', 'core', 'full'], help='packages imported before the first run (default: full; core in a Pod, which pays for its imports with each run)')
    parser.add_argument('--pod', action='store_true', help='be the container of a Pod: one run and the end; ready.json beside the socket says how it is')
    parser.add_argument('--generation-runs', type=int, default=2000, help='runs after which the libraries are loaded anew (default: %(default)s)')
    parser.add_argument('--probe', action='store_true', help='try a small run, print what this machine gives as JSON, and end')
    options = parser.parse_args(arguments)
    options.preload = options.preload or ('core' if options.pod else 'full')
    if not options.probe and not options.state:
        parser.error('--state is required')
    if options.probe and options.pod:
        parser.error('--probe has no --pod: a Pod that is not ready says why')
    return options


if __name__ == '__main__':
    choice = parse(sys.argv[1:])
    sys.exit((PodKeeper if choice.pod else Keeper)(choice).run())
