"""The first run of every box: proves that the walls stand before any user's code comes, and says which there are."""
import json
import socket

from . import wire

# What the canary tries; each name maps to what must come out.
CODE = '''
import ctypes, errno, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(call):
    try:
        call()
    except OSError as error:
        return True
    return False
def answers(number, call):
    try:
        call()
    except OSError as error:
        return error.errno == number
    return False
walls = {
    # EACCES is the word of the program's own filter; that of a container would say EPERM.
    "network": answers(errno.EACCES, socket.socket),
    "fork": refused(os.fork),
    "namespaces": libc.unshare(0x10000000) == -1,
    "passwords": refused(lambda: open("/etc/shadow")),
    "systemFiles": answers(errno.EROFS, lambda: open("/usr/canary", "w")),
    "sharedFiles": answers(errno.EROFS, lambda: os.chmod("/opt/fonts", 0o755)),
    "processes": refused(lambda: os.listdir("/proc/1")),
    # Outside of its own processes there is nobody to signal: none at all, or none that Landlock lets it reach.
    "signals": os.getppid() == 0 or refused(lambda: os.kill(os.getppid(), 0)),
    "noProc": not os.path.lexists("/proc/self"),
    "ownProcesses": os.getpid() == 1,
    "ownName": os.uname().nodename == "sandbox",
    "notRoot": os.getuid() != 0,
    "privileges": libc.prctl(39, 0, 0, 0, 0) == 1,
    "filter": libc.prctl(21, 0, 0, 0, 0) == 2,
    "rootFolder": refused(lambda: os.listdir("/")),
}
open("canary.txt", "w").write("sung")
packages = {}
for name in ("pandas", "numpy", "matplotlib"):
    module = sys.modules.get(name)
    if module is not None:
        packages[name] = module.__version__
print(json.dumps({"walls": walls, "packages": packages, "python": sys.version.split()[0]}))
'''
# Walls that only Landlock holds: not asked for where the kernel has none.
LANDLOCK_WALLS = {'rootFolder'}
# Those that only namespaces hold: not asked for in a box without them.
NAMESPACE_WALLS = {'noProc', 'ownProcesses', 'ownName', 'sharedFiles'}
SECONDS = 30.0


class CanaryDied(Exception):
    """The box does not run code as it should; the message says what is wrong."""


def sing(path):
    """Runs the canary over the socket at `path`. Returns { strength, python, packages, walls }; raises CanaryDied."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SECONDS)
        connection.connect(path)
        connection.sendall(wire.json_frame('J', {'runId': 'canary', 'code': CODE, 'limits': {'wallSeconds': 10}, 'files': []}))
        output, names, result = listen(connection)
    if result['verdict'] != 'ok':
        raise CanaryDied(f'the first run ended with {result["verdict"]}: {(result.get("error") or {}).get("message", "")[:300]}')
    told = json.loads(output)
    layers = result['strength'].split('+')
    excused = (set() if 'landlock' in layers else LANDLOCK_WALLS) | (set() if 'userns' in layers else NAMESPACE_WALLS)
    standing = {name for name, stands in told['walls'].items() if stands}
    fallen = sorted(set(told['walls']) - standing - excused)
    if fallen:
        raise CanaryDied(f'walls that do not stand: {", ".join(fallen)}')
    if 'canary.txt' not in names:
        raise CanaryDied('a file that a run wrote was not found')
    return {'strength': result['strength'], 'python': told['python'], 'packages': told['packages'], 'walls': sorted(standing)}


def listen(connection):
    """Frames until the result: (stdout, names of artifacts, result)."""
    reader, output, names = wire.FrameReader(), b'', []
    while True:
        frame = reader.take()
        if frame is None:
            data = connection.recv(1 << 16)
            if not data:
                raise CanaryDied('the slot closed the connection without a result')
            reader.feed(data)
            continue
        kind, payload = frame
        if kind == 'O':
            output += payload
        elif kind == 'A':
            names.append(json.loads(payload)['name'])
        elif kind == 'R':
            return output, names, json.loads(payload)
