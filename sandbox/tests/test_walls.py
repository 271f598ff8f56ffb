"""What user code can't do: every wall is tried from inside, and every system call is compared with the policy."""
import json
import platform

from moli_sandbox import seccomp
from support import SANDBOX, BoxCase, unittest

PREAMBLE = '''
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(*arguments):
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(*[ctypes.c_long(a) for a in arguments]) == -1 else 0
def refused(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return None
'''
# Calls that end, stop or wait for ever when really made, or take memory away from under the interpreter.
NOT_CALLED = {
    'exit', 'exit_group', 'pause', 'rt_sigreturn', 'rt_sigsuspend', 'restart_syscall', 'kill', 'tkill', 'tgkill', 'close_range', 'munmap', 'mremap',
    'brk', 'arch_prctl', 'set_tid_address', 'set_robust_list', 'sigaltstack', 'rt_sigaction', 'rt_sigprocmask', 'alarm', 'setitimer', 'select', 'poll', 'ppoll',
    'pselect6', 'read', 'dup2', 'dup3', 'close', 'futex', 'wait4', 'waitid', 'rseq', 'mprotect', 'madvise', 'umask', 'chdir', 'fchdir', 'pread64', 'clone',
}


# uretprobe and uprobe: since 6.11 the kernel takes them past every filter and answers SIGILL to whoever is no probe.
PAST_EVERY_FILTER = [335, 336]


class Walls(BoxCase):
    def ask(self, expression, **limits):
        """Value of an expression inside, as JSON."""
        result = self.run_code(f'{PREAMBLE}\nprint(json.dumps({expression}))', limits=limits)
        self.assert_ok(result)
        return json.loads(result.text)

    def test_every_system_call_answers_as_the_policy_says(self):
        policy = seccomp.load_policy(f'{SANDBOX}/seccomp.json')
        numbers = seccomp.NUMBERS[platform.machine()]
        skipped = [numbers[name] for name in NOT_CALLED if name in numbers] + PAST_EVERY_FILTER
        # Arguments that no allowed call does harm with: bad descriptors and addresses.
        result = self.run_code(
            f'{PREAMBLE}\nskipped = {skipped}\nseen = {{}}\n'
            'for number in range(0, 471):\n    if number not in skipped:\n        seen[number] = call(number, -1, -1, -1, -1, -1, -1)\nprint(json.dumps(seen))',
            limits={'wallSeconds': 20})
        self.assert_ok(result)
        numbered = seccomp.rules_by_number(policy, platform.machine())
        seen = {int(number): answer for number, answer in json.loads(result.text).items()}
        self.assertEqual(len(seen), 471 - len(skipped))
        for number, answer in seen.items():
            expected = seccomp.decide(policy, numbered, number, (2**64 - 1,) * 6)
            if expected == 'allow':
                # The kernel's own refusals of these arguments; EPERM is what the filter says.
                self.assertNotIn(answer, (1, 38), f'call {number} is allowed by the policy but answered {answer}')
            else:
                self.assertEqual(answer, expected, f'call {number}')

    def test_other_entries_to_the_kernel_are_closed(self):
        if platform.machine() != 'x86_64':
            self.skipTest('entries of x86-64')
        result = self.run_code(f'{PREAMBLE}\nprint(call(0x40000000 | 39))')
        self.assertEqual((result.verdict, result.end['signal']), ('signalled', 'SIGSYS'))
        # int 0x80: the 32-bit table. mov eax, 20 (getpid); int 0x80; ret
        result = self.run_code(
            f'{PREAMBLE}\nimport mmap\nm = mmap.mmap(-1, 4096, prot=7)\nm.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))\n'
            'address = ctypes.addressof(ctypes.c_char.from_buffer(m))\nprint(ctypes.CFUNCTYPE(ctypes.c_int)(address)())')
        self.assertEqual((result.verdict, result.end['signal']), ('signalled', 'SIGSYS'))

    def test_no_network(self):
        kinds = self.ask('[refused(lambda: __import__("socket").socket(f, t)) for f in range(0, 46) for t in (1, 2, 3, 5)]')
        self.assertEqual(set(kinds), {'EACCES'})
        self.assertEqual(self.ask('call(41, (1 << 32) | 1, 1, 0)'), 13)
        self.assertEqual(self.ask('[call(53, f | (1 << 32), 1, 0, 0) for f in (1, 2)]'), [1, 1])
        result = self.run_code('import socket, time\nt = time.time()\ntry: socket.getaddrinfo("example.com", 80)\nexcept OSError as e: print("no", time.time() - t < 1)')
        self.assertEqual(result.text, 'no True\n')

    def test_no_other_process(self):
        self.assertEqual(self.ask('[refused(os.fork), refused(lambda: os.kill(-1, 9)), refused(lambda: os.kill(2, 9)), os.getpid()]'), ['EPERM', 'ESRCH', 'ESRCH', 1])
        self.assertEqual(self.ask('[call(56, 17, 0, 0, 0, 0), call(435, 0, 0), call(57), call(58), call(434, 1, 0), call(424, 0, 9, 0, 0)]'), [1, 38, 1, 1, 1, 1])

    def test_no_namespaces_mounts_or_capabilities(self):
        names = ['unshare', 'setns', 'mount', 'umount2', 'pivot_root', 'chroot', 'sethostname', 'ptrace', 'bpf', 'userfaultfd', 'io_uring_setup', 'keyctl', 'perf_event_open', 'process_vm_readv', 'memfd_secret', 'personality', 'init_module', 'fsopen', 'open_tree', 'move_mount', 'mknod', 'swapon', 'reboot', 'settimeofday', 'setpriority', 'sched_setscheduler', 'sched_setaffinity', 'ioprio_set', 'mlockall', 'memfd_create', 'name_to_handle_at', 'open_by_handle_at', 'pidfd_getfd', 'syslog', 'quotactl', 'acct', 'kexec_load', 'setuid', 'setgid', 'setgroups', 'capset', 'chown', 'fchown']
        numbers = [272, 308, 165, 166, 155, 161, 170, 101, 321, 323, 425, 250, 298, 310, 447, 135, 175, 430, 428, 429, 133, 167, 169, 164, 141, 144, 203, 251, 151, 319, 303, 304, 438, 103, 179, 163, 246, 105, 106, 116, 126, 92, 93]
        if platform.machine() != 'x86_64':
            self.skipTest('numbers of x86-64')
        self.assertEqual(dict(zip(names, self.ask(f'[call(n, 0, 0, 0, 0, 0, 0) for n in {numbers}]'))), dict.fromkeys(names, 1))
        self.assertEqual(self.ask('[os.getuid(), os.getgid(), libc.prctl(39, 0, 0, 0, 0), libc.prctl(21, 0, 0, 0, 0)]'), [1000, 1000, 1, 2])
        # In a Pod the one group is also a supplementary one.
        self.assertLessEqual(set(self.ask('os.getgroups()')), {1000})

    def test_no_terminal_tricks(self):
        self.assertEqual(self.ask('[call(16, 0, 0x5412, 0), call(16, 0, 0x541c, 0), call(16, 0, 0xae00, 0)]'), [1, 1, 1])

    def test_files_of_the_machine(self):
        refusals = self.ask('[refused(lambda: open(p)) for p in ("/etc/shadow", "/root/.bashrc", "/home", "/proc/1/environ", "/proc/self/environ", "/sys/kernel", "/var/log/syslog", "/dev/kmsg", "/dev/mem", "/dev/kvm", "/dev/fuse", "/dev/tty", "/etc/machine-id", "/run/docker.sock")]')
        self.assertEqual({item for item in refusals if item not in ('ENOENT', 'EACCES')}, set())
        self.assertEqual(self.ask('os.listdir("/proc")') if self.ask('refused(lambda: os.listdir("/proc"))') is None else [], [])
        self.assertEqual(self.ask('open("/etc/passwd").read().count("\\n")'), 1)
        self.assertEqual(self.ask('__import__("platform").node()'), 'sandbox')

    def test_nothing_outside_can_be_written(self):
        places = ['/usr/x', '/etc/x', '/opt/python/x', '/opt/moli/x', '/opt/fonts/x', '/x', '/mnt/x', '/dev/x', '/var/x', '/opt/python/lib/python3.11/site-packages/sitecustomize.py', '/proc/x']
        answers = self.ask(f'[refused(lambda: open(p, "w")) for p in {places}]')
        self.assertEqual({place: answer for place, answer in zip(places, answers) if answer not in ('EROFS', 'EACCES', 'ENOENT')}, {})

    def test_nothing_in_the_work_folders_can_be_executed(self):
        self.assertEqual(self.ask('[refused(lambda: os.mknod("/workspace/d", 0o20600, 0x103)), refused(lambda: os.mkfifo("/workspace/f"))]'), ['EPERM', 'EPERM'])
        code = f'{PREAMBLE}\nimport shutil\nshutil.copy(libc._name or "/usr/lib/x86_64-linux-gnu/libz.so.1", "/workspace/z.so")\nctypes.CDLL("/workspace/z.so")'
        result = self.run_code(code)
        self.assertEqual(result.verdict, 'user_error')

    def test_environment_and_arguments_hold_nothing(self):
        self.assertEqual(set(self.ask('dict(os.environ)')) & {'MOLI_SECRET', 'SECRET_CANARY'}, set())
        self.assertEqual(self.ask('sys.argv'), ['main.py'])

    def test_descriptors(self):
        self.assertEqual(self.ask('[n for n in range(3, 512) if refused(lambda: os.fstat(n)) is None]'), [3])

    def test_canary_secrets_are_not_in_memory(self):
        """The launcher's environment never gets into the box: searched for in everything that the process can read of itself."""
        from support import Box

        box = Box(environment={'SECRET_CANARY': 'tweet-tweet-9271'}, preload='none')
        self.addCleanup(box.close)
        found = box.run(
            'import gc, os\nneedle = "tweet-" + "tweet-" + "9271"\n'
            'print(any(needle in repr(x) for x in [*os.environ.items()] ), any(isinstance(o, (str, bytes)) and needle in str(o) for o in gc.get_objects()))')
        self.assertEqual(found.text, 'False False\n')

    def test_two_runs_at_once_do_not_see_each_other(self):
        first = self.box.open('import os, time\nopen("mine", "w").write("x"); open("/tmp/mine", "w").write("x"); open("/dev/shm/mine", "w").write("x")\nprint("written")\ntime.sleep(30)', limits={'wallSeconds': 60})
        first.read_until(lambda result: b'written' in result.stdout)
        self.assertEqual(self.ask('[os.listdir("/workspace"), os.listdir("/tmp"), os.listdir("/dev/shm"), refused(lambda: os.kill(2, 0))]'), [[], [], [], 'ESRCH'])
        first.send('C')
        self.assertEqual(first.finish().verdict, 'cancelled')

    def test_nothing_is_left_for_the_next_run(self):
        self.run_code('import os, builtins, pandas\nopen("/tmp/a", "w"); os.environ["LEFT"] = "1"; builtins.left = 1; pandas.left = 1; open("pandas.py", "w"); open("/workspace/sitecustomize.py", "w")')
        self.assertEqual(self.ask('[os.listdir("/tmp"), os.listdir("."), os.environ.get("LEFT"), hasattr(__import__("builtins"), "left"), hasattr(__import__("pandas"), "left")]'), [[], [], None, False, False])

    def test_shadowing_modules_touches_only_the_run(self):
        result = self.run_code('import json\nimport pandas as pd\nprint(json.dumps(1), pd.DataFrame({"a": [1]}).shape)', {'json.py': b'raise SystemExit("json.py")', 'pandas.py': b'raise SystemExit("pandas.py")', 'sitecustomize.py': b'1/0', 'helper.py': b'x = 5'})
        self.assertEqual((result.verdict, result.text), ('ok', '1 (1, 1)\n'))

    def test_randomness_differs_between_runs(self):
        code = 'import random, ssl, uuid, tempfile, numpy as np\nprint(random.random(), np.random.rand(), np.random.default_rng().random(), uuid.uuid4(), tempfile.mktemp(), ssl.RAND_bytes(8).hex())'
        lines = [self.run_code(code).text.split() for _ in range(6)]
        for values in zip(*lines):
            self.assertEqual(len(set(values)), 6)


if __name__ == '__main__':
    unittest.main()
