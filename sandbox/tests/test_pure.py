"""Parts that need no box: frames, output caps, job checks, code cleaning, file types, the seccomp compiler."""
import ctypes
import json
import os
import struct
import sys
import tempfile

from moli_sandbox import channel, collect, explain_end, job, outputs, seccomp, source, syscalls, verdict, wire
from moli_sandbox.syscall_numbers import NUMBERS
from support import SANDBOX, unittest

POLICY = seccomp.load_policy(f'{SANDBOX}/seccomp.json')


class Frames(unittest.TestCase):
    def test_round_trip_in_any_pieces(self):
        data = wire.frame('J', b'{}') + wire.frame('D', b'x' * 1000) + wire.frame('C') + wire.json_frame('R', {'a': '中'})
        for size in (1, 3, 7, 4096):
            reader, seen = wire.FrameReader(), []
            for start in range(0, len(data), size):
                reader.feed(data[start:start + size])
                while frame := reader.take():
                    seen.append(frame)
            self.assertEqual(seen, [('J', b'{}'), ('D', b'x' * 1000), ('C', b''), ('R', '{"a":"中"}'.encode())])

    def test_lengths_out_of_bounds(self):
        for length in (0, wire.MAX_PAYLOAD + 2, 0xFFFFFFFF):
            reader = wire.FrameReader()
            reader.feed(struct.pack('<IB', length, 65))
            with self.assertRaises(wire.BrokenFrame):
                reader.take()

    def test_no_json_that_others_do_not_take(self):
        with self.assertRaises(ValueError):
            wire.json_frame('R', {'a': float('nan')})
        self.assertEqual(json.loads(wire.json_frame('R', {'a': '\ud800'})[5:]), {'a': '\\ud800'})
        self.assertEqual(json.loads(wire.json_frame('R', {'a': ['x\0y', '\\u0000']})[5:]), {'a': ['x\u2400y', '\\u0000']})

    def test_messages_of_the_program(self):
        nonce = os.urandom(16)
        read, write = os.pipe()
        sender = channel.Sender(write, nonce)
        sender.send('R', {'exitCode': 0})
        data = os.read(read, 65536)
        reader = channel.ResultReader(nonce)
        self.assertEqual([message for byte in data for message in reader.feed(bytes([byte]))], [('R', b'{"exitCode": 0}', b'')])
        self.assertEqual(reader.feed(b'stray' * 20), [])
        self.assertTrue(reader.broken)
        self.assertEqual(reader.feed(data), [])
        for kind, text, extra in ((b'R', channel.MAX_RESULT + 1, 0), (b'P', channel.MAX_TEXT + 1, 0), (b'P', 1, channel.MAX_DATA + 1)):
            reader = channel.ResultReader(nonce)
            reader.feed(channel.HEADER.pack(nonce, kind, text, extra))
            self.assertTrue(reader.broken)
        os.close(read)
        os.close(write)


class Outputs(unittest.TestCase):
    def test_head_tail_and_count(self):
        output = outputs.Output('O', 10)
        sent = output.take(b'12345') + output.take(b'6789abc') + output.take(b'x' * 5000) + output.take(b'END')
        self.assertEqual(sent, wire.frame('O', b'12345') + wire.frame('O', b'6789a'))
        self.assertTrue(output.truncated)
        end = output.finish()
        self.assertTrue(end.endswith(b'END'))
        self.assertIn('909 bytes left out'.encode(), end)
        self.assertEqual(output.total, 5015)

    def test_nothing_is_said_when_nothing_is_missing(self):
        output = outputs.Output('E', 10)
        output.take(b'1234567890')
        self.assertEqual((output.truncated, output.finish()), (False, b''))
        output.take(b'ab')
        self.assertEqual((output.truncated, output.finish()), (True, wire.frame('E', b'ab')))

    def test_flood(self):
        output = outputs.Output('O', 100)
        output.take(b'x' * 6400)
        self.assertFalse(output.flooded)
        output.take(b'x')
        self.assertTrue(output.flooded)


class Jobs(unittest.TestCase):
    def test_defaults(self):
        checked = job.check_job({'code': 'x'})
        self.assertEqual((checked['filename'], checked['limits'], checked['files'], checked['locale']), ('main.py', job.DEFAULT_LIMITS, [], 'en'))

    def test_names(self):
        for name in ('a', 'a b.csv', '数据.csv', '.hidden', 'é', 'x' * 255, "it's", '👩\u200d👧.txt', '\u200cx'):
            self.assertIsNone(job.name_fault(name), name)
        for name in ('', '.', '..', 'a/b', 'a\0', 'a\n', 'a\x1b', '\u202ea', 'a\u2066', 'x' * 256, '字' * 86, '\ud800', '\u2028', '\ufeffa', '\x7f'):
            self.assertTrue(job.name_fault(name), repr(name))

    def test_paths(self):
        self.assertIsNone(job.path_fault('a/b/c.txt'))
        for path in ('/a', 'a/', 'a//b', '../a', 'a/../b', './a', '/'.join('a' * 30)):
            self.assertTrue(job.path_fault(path), path)


class Types(unittest.TestCase):
    def test_types(self):
        for name, head, kind in (
            ('a.csv', b'a,b', 'text/csv'), ('a.PNG', b'\x89PNG\r\n\x1a\n', 'image/png'), ('a.png', b'<svg', 'application/octet-stream'), ('a.txt', b'\x89PNG\r\n\x1a\n', 'image/png'),
            ('noext', b'%PDF-1.4', 'application/pdf'), ('noext', b'', 'application/octet-stream'), ('a.svg', b'<svg', 'image/svg+xml'), ('a.jpeg', b'\xff\xd8\xff\xe0', 'image/jpeg'),
        ):
            self.assertEqual(collect.mime_type(name, head), kind, name)

    def test_printable(self):
        self.assertEqual(collect.printable('a\nb\u202e\udcff文'), 'a\\nb\\u202e\\udcff文')
        self.assertEqual(len(collect.printable('x' * 1000)), 300)


class Cleaning(unittest.TestCase):
    def test_untouched(self):
        for code in ('x = 1', 'x = """\n```\n"""', '', 'await f()', 'x = "%matplotlib"', 'def f():\n    return 1\n'):
            self.assertEqual(source.clean(code), code)

    def test_lines_stay(self):
        for code in ('```py\nx\n```', '    a\n    b', '%matplotlib inline\n!ls -la\nx?\ny = !ls', '# c\n```python\nx\n```\n\n', '~~~\nx\n~~~', '%%capture\nx', 'x = [\n%time\n'):
            self.assertEqual(source.clean(code).count('\n'), code.count('\n'), code)

    def test_magics(self):
        for line, expected in (
            ('%matplotlib inline', "__moli_magic__('matplotlib', 'inline', 1)"), ('  !ls -l', "  __moli_shell__('ls -l')"), ('x = !ls', "x = __moli_shell__('ls', True)"),
            ('%pip install x', "__moli_shell__('pip install x')"), ('%timeit -n 10 f(1)', 'f(1)'), ('%time x = 1', 'x = 1'), ('df.head?', 'pass'), ('??df', 'pass'), ('%%time', 'pass'), ('x % y', 'x % y'), ('x = y', 'x = y'),
        ):
            self.assertEqual(source.rewrite_line(line), expected)

    def test_strings_and_brackets_are_left(self):
        code = "s = '''\n%time x\n!ls\n'''\nt = (1\n% 2)\nu = 'a' \\\n% 3\n!pwd"
        self.assertEqual(source.rewrite_magics(code), code.replace('\n!pwd', "\n__moli_shell__('pwd')"))

    def test_semicolon(self):
        self.assertTrue(source.ends_with_semicolon('x;'))
        self.assertTrue(source.ends_with_semicolon('x;  # note\n\n'))
        self.assertFalse(source.ends_with_semicolon('x\n'))
        self.assertFalse(source.ends_with_semicolon('x = ";"'))


class Ends(unittest.TestCase):
    def test_every_limit_is_explained(self):
        for name in ('timeout_wall', 'timeout_cpu', 'memory_limit', 'pids_limit', 'disk_limit', 'output_limit', 'cancelled'):
            text = explain_end.limit(name, job.DEFAULT_LIMITS)
            self.assertTrue(text['zh'] and text['en'])
            self.assertIn(name, explain_end.LIMIT_NAMES)

    def test_the_word_of_the_program(self):
        class Relay:
            limits = job.DEFAULT_LIMITS

        for result, expected in (
            ({'exitCode': 0, 'error': None}, 'ok'), ({}, 'ok'), ({'exitCode': 4}, 'user_error'), ({'error': {'name': 'X'}}, 'user_error'), ({'error': {}, 'kind': 'memory'}, 'memory_limit'),
            ({'error': {}, 'kind': 'made_up'}, 'user_error'), ({'error': {}, 'kind': {}}, 'user_error'), ({'exitCode': 10**9}, 'ok'),
        ):
            self.assertEqual(verdict.describe_end(None, None, result, Relay)['verdict'], expected, result)


class Emulator:
    """Runs classic BPF as the kernel does, over one struct seccomp_data."""

    def __init__(self, code):
        self.code = [struct.unpack_from('=HBBI', code, at) for at in range(0, len(code), 8)]

    def run(self, number, architecture, arguments=(0,) * 6):
        data = struct.pack('<iIQ6Q', number if number < 1 << 31 else number - (1 << 32), architecture, 0, *arguments)
        at = accumulator = 0
        while True:
            operation, when_true, when_false, value = self.code[at]
            at += 1
            if operation == seccomp.LOAD:
                accumulator = struct.unpack_from('<I', data, value)[0]
            elif operation == seccomp.AND:
                accumulator &= value
            elif operation == seccomp.JUMP:
                at += value
            elif operation == seccomp.JUMP_EQUAL:
                at += when_true if accumulator == value else when_false
            elif operation == seccomp.JUMP_GREATER_EQUAL:
                at += when_true if accumulator >= value else when_false
            elif operation == seccomp.RETURN:
                return value
            else:
                raise AssertionError(f'operation {operation:#x}')


class Seccomp(unittest.TestCase):
    ARGUMENTS = [
        (0,) * 6, (1,) * 6, (2,) * 6, ((1 << 32) | 1,) * 6, (2**64 - 1,) * 6, (0x3D0F00, 0, 0, 0, 0, 0), (0x10000, 0, 0, 0, 0, 0), (0x10010000, 0, 0, 0, 0, 0), (0x20010000, 0, 0, 0, 0, 0), (15, 0, 0, 0, 0, 0),
        (0x53564D41, 0, 0, 0, 0, 0), (0, 0x5401, 0, 0, 0, 0), (0, 0x5412, 0, 0, 0, 0), (0, (1 << 32) | 0x5401, 0, 0, 0, 0),
    ]

    def test_every_number_means_what_the_policy_says(self):
        for machine, architecture in seccomp.AUDIT_ARCHITECTURE.items():
            emulator = Emulator(seccomp.compile_policy(POLICY, machine))
            numbered = seccomp.rules_by_number(POLICY, machine)
            for number in [*range(0, 600), 1000, 0x3FFFFFFF]:
                for arguments in self.ARGUMENTS:
                    answer = seccomp.decide(POLICY, numbered, number, arguments)
                    expected = seccomp.RETURN_ALLOW if answer == 'allow' else seccomp.RETURN_ERRNO | answer
                    self.assertEqual(emulator.run(number, architecture, arguments), expected, f'{machine} {number} {arguments}')

    def test_other_architectures_and_x32_are_killed(self):
        emulator = Emulator(seccomp.compile_policy(POLICY, 'x86_64'))
        for architecture in (0x40000003, 0xC00000B7, 0):
            self.assertEqual(emulator.run(0, architecture), seccomp.RETURN_KILL)
        for number in (0x40000000, 0x40000001, 0xFFFFFFFF):
            self.assertEqual(emulator.run(number, 0xC000003E), seccomp.RETURN_KILL)

    def test_what_must_never_be_allowed(self):
        allowed = {name for rule in POLICY['syscalls'] if rule['action'] == 'SCMP_ACT_ALLOW' for name in rule['names']}
        self.assertLessEqual(len(allowed), 170)
        never = 'execve execveat fork vfork clone3 ptrace mount umount2 unshare setns pivot_root chroot bpf keyctl add_key request_key io_uring_setup io_uring_enter userfaultfd perf_event_open process_vm_readv process_vm_writev pidfd_getfd memfd_create memfd_secret socket connect bind listen accept accept4 setuid setgid capset seccomp init_module kexec_load mknod mknodat open_by_handle_at personality sched_setaffinity setpriority shmget msgget semget mq_open landlock_restrict_self'.split()
        self.assertEqual(allowed & set(never), set())

    def test_numbers_agree_with_the_system_headers(self):
        path = '/usr/include/x86_64-linux-gnu/asm/unistd_64.h'
        if not os.path.exists(path):
            self.skipTest('no kernel headers here')
        with open(path, encoding='ascii') as file:
            system = dict(line.split()[1:3] for line in file if line.startswith('#define __NR_'))
        for name, number in NUMBERS['x86_64'].items():
            self.assertEqual(system[f'__NR_{name}'], str(number))

    def test_policies_that_are_not_understood(self):
        def policy(**rule):
            return {'defaultAction': 'SCMP_ACT_ERRNO', 'defaultErrnoRet': 1, 'newestKnownSyscall': 450, 'syscalls': [{'names': ['read'], 'action': 'SCMP_ACT_ALLOW', **rule}]}

        for bad in (policy(action='SCMP_ACT_LOG'), policy(args=[{'index': 0, 'op': 'SCMP_CMP_LT', 'value': 1}]), policy(action='SCMP_ACT_ERRNO', errnoRet=1, args=[{'index': 0, 'op': 'SCMP_CMP_EQ', 'value': 1}]), {**policy(), 'defaultAction': 'SCMP_ACT_ALLOW'}):
            with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
                json.dump(bad, file)
                file.flush()
                with self.assertRaises(seccomp.PolicyError):
                    seccomp.load_policy(file.name)
        with self.assertRaises(seccomp.PolicyError):
            seccomp.compile_policy(policy(names=['no_such_call']), 'x86_64')

    def test_the_kernel_takes_it(self):
        child = os.fork()
        if child == 0:
            try:
                syscalls.set_no_new_privileges()
                syscalls.install_seccomp(seccomp.compile_policy(POLICY, os.uname().machine))
                libc = ctypes.CDLL(None, use_errno=True)
                os._exit(0 if libc.unshare(0x10000000) == -1 and ctypes.get_errno() == 1 else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == '__main__':
    sys.exit(unittest.main())
