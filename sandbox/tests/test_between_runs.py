"""What one run can leave for the next: programs here try to change, keep or hold something that another run finds."""
import json
import mmap
import os
import subprocess

from support import PYTHON, SANDBOX, BoxCase, needs_python, needs_root, unittest
from test_walls import PREAMBLE

from moli_sandbox import snapshot

# All that a program can name and does not have for itself.
LOOK = '''
def seen():
    places = ['/', '/mnt', '/opt', '/opt/python', '/usr', '/usr/bin', '/usr/lib', *(f'/dev/{name}' for name in ('null', 'zero', 'full', 'random', 'urandom'))]
    for top in ('/dev', '/etc', '/opt/fonts', '/opt/moli', '/proc'):
        places.append(top)
        for folder, folders, files in os.walk(top):
            places += [os.path.join(folder, name) for name in (*folders, *files)]
    return [place for place in places if not os.path.islink(place) and not place.startswith('/dev/shm')]
'''
SOCKET = 'import array, fcntl, socket\nours, theirs = socket.socketpair()\nresults = socket.socket(fileno=os.dup(3))\n'


class BetweenRuns(BoxCase):
    def ask(self, expression, before=''):
        """Value of an expression inside, as JSON."""
        result = self.run_code(f'{PREAMBLE}\n{before}\nprint(json.dumps({expression}))')
        self.assert_ok(result)
        return json.loads(result.text)

    def test_modes_and_times_of_shared_files_stay(self):
        """Landlock does not hold them. A program that closes the font list's folder would otherwise end every zygote after it."""
        look = f'{LOOK}\ndef state(place):\n    info = os.stat(place)\n    return [info.st_mode, info.st_mtime_ns]'
        own = '{place: state(place) for place in seen() if place.startswith(("/dev", "/opt/fonts"))}'
        before = self.ask(own, look)
        self.assertLessEqual({'/opt/fonts', '/dev/null'}, set(before))
        tries = 'lambda: os.chmod(p, 0)', 'lambda: os.utime(p)', 'lambda: os.utime(p, (7, 7))'
        answers = self.ask(f'[refused(f) for p in seen() for f in ({", ".join(tries)})]', LOOK)
        self.assertEqual(set(answers), {'EROFS'})
        self.assertEqual(self.ask(own, look), before)

    def test_devices_still_work(self):
        self.assertEqual(self.ask('[open("/dev/null", "w").write("x"), len(open("/dev/urandom", "rb").read(8)), len(open("/dev/zero", "rb").read(8))]'), [1, 8, 8])

    def test_no_policy_is_left_with_the_memory_of_the_zygote(self):
        """mbind(2) on the zygote's image keeps its policy with the file, which every later run maps."""
        numbers = seccomp_numbers('mbind', 'get_mempolicy', 'set_mempolicy', 'migrate_pages', 'move_pages')
        self.assertEqual(self.ask(f'[call(number, 0, 0, 0, 0, 0, 0) for number in {numbers}]'), [1] * len(numbers))

    def test_nothing_is_hung_on_files_that_others_read(self):
        # linux/fcntl.h: F_SETLEASE, F_GETLEASE, F_NOTIFY, F_SET_RW_HINT, F_SET_FILE_RW_HINT, then F_SETOWN, F_SETSIG, F_SETPIPE_SZ.
        commands = [1024, 1025, 1026, 1036, 1038, 8, 10, 1031]
        self.assertEqual(
            self.ask(f'[refused(lambda: fcntl.fcntl(folder, command, 1)) for command in {commands}]', 'import fcntl\nfolder = os.open("/opt/python", os.O_RDONLY)'),
            ['EPERM'] * len(commands))

    def test_no_descriptor_leaves_a_program(self):
        """Descriptors on their way are counted for the user, so one run's would be refused to the next, and to the zygote."""
        tries = (
            'lambda: ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])',
            'lambda: results.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])',
            'lambda: ours.recvmsg(1, 64)',
            'lambda: ours.send(b"x", socket.MSG_OOB)',
            'lambda: results.send(b"x", socket.MSG_OOB)',
            'lambda: ours.recv(1, socket.MSG_OOB)',
            # SO_ATTACH_FILTER, SO_PASSCRED, SO_PEEK_OFF
            *(f'lambda: ours.setsockopt(socket.SOL_SOCKET, {option}, 1)' for option in (26, 16, 42)),
            # SO_PEERCRED, SO_PEERGROUPS, SO_PEERPIDFD: of the zygote, which made the pair.
            *(f'lambda: results.getsockopt(socket.SOL_SOCKET, {option}, 64)' for option in (17, 59, 77)),
        )
        self.assertEqual(self.ask(f'[refused(f) for f in ({", ".join(tries)})]', SOCKET), ['EPERM'] * len(tries))

    def test_what_libraries_do_with_sockets_and_descriptors_works(self):
        code = (
            'import asyncio, fcntl, multiprocessing, os, socket, sqlite3\n'
            'async def talk():\n'
            '    ours, theirs = socket.socketpair()\n'
            '    reader, writer = await asyncio.open_connection(sock=ours)\n'
            '    theirs.sendall(b"there\\n"); writer.write(b"back\\n"); await writer.drain()\n'
            '    return [await reader.readline(), theirs.recv(9), await asyncio.to_thread(sum, [1, 2])]\n'
            'print(asyncio.run(talk()))\n'
            'left, right = multiprocessing.Pipe()\nleft.send({"a": 1}); print(right.recv())\n'
            'data = sqlite3.connect("data.db"); data.execute("create table t (a)"); data.commit(); print(data.execute("select count(*) from t").fetchall())\n'
            'with open("locked", "w") as file:\n    fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX); print(os.get_blocking(file.fileno()), os.get_inheritable(os.dup(file.fileno())))\n'
        )
        result = self.run_code(code)
        self.assert_ok(result)
        self.assertEqual(result.text.splitlines(), ["[b'there\\n', b'back\\n', 3]", "{'a': 1}", '[(0,)]', 'True False'])


@needs_python
class Forked(unittest.TestCase):
    def test_memory_that_children_would_share_is_seen(self):
        self.assertEqual(snapshot.shared_mappings(), [])
        with mmap.mmap(-1, 4096):
            self.assertEqual(len(snapshot.shared_mappings()), 1)
        with mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE):
            self.assertEqual(snapshot.shared_mappings(), [])

    @needs_root
    def test_openssl_draws_anew_in_each_run(self):
        """The zygote, which has drawn before, and each program are the first of their pid namespaces."""
        script = (
            'import os, ssl, sys\n'
            'sys.path.insert(0, sys.argv[1])\n'
            'from moli_sandbox import execution, syscalls\n'
            'syscalls.unshare(syscalls.CLONE_NEWPID)\n'
            'if os.fork():\n    os.wait(); os._exit(0)\n'
            'ssl.RAND_bytes(16)\n'
            'own = os.open("/proc/self/ns/pid", os.O_RDONLY)\n'
            'for _ in range(3):\n'
            '    syscalls.unshare(syscalls.CLONE_NEWPID)\n'
            '    if os.fork() == 0:\n'
            '        execution.prepare_process()\n'
            '        os.write(1, f"{os.getpid()} {ssl.RAND_bytes(16).hex()}\\n".encode())\n'
            '        os._exit(0)\n'
            '    os.wait()\n'
            '    syscalls.enter_namespace(own, syscalls.CLONE_NEWPID)\n'
        )
        done = subprocess.run([PYTHON, '-c', script, SANDBOX], capture_output=True, text=True, check=False, env={'PATH': os.environ['PATH']})
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([pid for pid, _ in lines], ['1'] * 3, done.stderr)
        self.assertEqual(len({drawn for _, drawn in lines}), 3)


def seccomp_numbers(*names):
    """Numbers of calls on this machine (asm/unistd.h); the policy's table has those it names only."""
    table = {
        'x86_64': {'mbind': 237, 'set_mempolicy': 238, 'get_mempolicy': 239, 'migrate_pages': 256, 'move_pages': 279},
        'aarch64': {'mbind': 235, 'get_mempolicy': 236, 'set_mempolicy': 237, 'migrate_pages': 238, 'move_pages': 239},
    }[os.uname().machine]
    return [table[name] for name in names]


if __name__ == '__main__':
    unittest.main()
