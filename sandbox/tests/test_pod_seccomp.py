"""The seccomp profile of a Pod: made from seccomp.json, wide enough for the box, and no narrower than what user code has."""
import json
import os
import subprocess

from support import SANDBOX, SYSTEM_PYTHON, unittest

import podlike
import test_pure
from moli_sandbox import seccomp

POLICY = seccomp.load_policy(f'{SANDBOX}/seccomp.json')
# Kernel code that has held a way out, or that reaches beyond the container: for nobody in it.
NEVER = (
    'ptrace bpf keyctl add_key request_key io_uring_setup io_uring_enter userfaultfd perf_event_open process_vm_readv process_vm_writev pidfd_getfd '
    'init_module finit_module kexec_load mknod mknodat open_by_handle_at name_to_handle_at personality chroot clone3 fork vfork execveat reboot swapon '
    'fsopen fsmount move_mount open_tree memfd_secret setuid setgid setgroups chown fchown'
).split()


class Profile(unittest.TestCase):
    def test_the_committed_file_is_what_the_generator_makes(self):
        done = subprocess.run([SYSTEM_PYTHON, f'{SANDBOX}/pod_seccomp.py', '--check', podlike.PROFILE], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_another_file_is_seen(self):
        done = subprocess.run([SYSTEM_PYTHON, f'{SANDBOX}/pod_seccomp.py', '--check', f'{SANDBOX}/seccomp.json'], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, 'pod_seccomp.py --write' in done.stderr), (1, True))

    def test_user_code_may_all_that_it_may_on_one_machine(self):
        """Both filters are asked and the stricter one wins, so whatever seccomp.json allows the profile must allow."""
        profile = podlike.profile()
        for machine in seccomp.AUDIT_ARCHITECTURE:
            ours, theirs = (seccomp.rules_by_number(policy, machine) for policy in (POLICY, profile))
            for number in range(0, 600):
                for arguments in (*test_pure.Seccomp.ARGUMENTS, *((value,) * 6 for value in (3, 15, 16, 21, 39))):
                    if seccomp.decide(POLICY, ours, number, arguments) == 'allow':
                        self.assertEqual(seccomp.decide(profile, theirs, number, arguments), 'allow', f'{machine} {number} {arguments}')

    def test_what_nobody_in_the_container_may(self):
        allowed = {name for rule in podlike.profile()['syscalls'] if rule['action'] == 'SCMP_ACT_ALLOW' for name in rule['names']}
        self.assertEqual(allowed & set(NEVER), set())

    def test_sockets_and_namespaces(self):
        profile = podlike.profile()
        for machine, numbers in seccomp.NUMBERS.items():
            numbered = seccomp.rules_by_number(profile, machine)

            def answer(name, *arguments):
                return seccomp.decide(profile, numbered, numbers[name], (*arguments, *(0,) * (6 - len(arguments))))

            self.assertEqual([answer('socket', family) for family in (1, 2, 10, 16, 17, 40, 1 << 32 | 1, 1 << 32 | 2)], ['allow'] + [1] * 7)
            # fork; a namespace flag; every namespace at once.
            self.assertEqual([answer('clone', flags) for flags in (0x1200011, 0x10000011, 0x7E020011)], ['allow', 1, 1])
            self.assertEqual([answer('prctl', option) for option in (1, 24, 22, 59)], ['allow', 'allow', 1, 1])

    def test_the_form_that_runtimes_read(self):
        with open(podlike.PROFILE, encoding='utf-8') as file:
            profile = json.load(file)
        self.assertEqual(set(profile), {'comment', 'defaultAction', 'defaultErrnoRet', 'architectures', 'syscalls'})
        for rule in profile['syscalls']:
            self.assertLessEqual(set(rule), {'comment', 'action', 'names', 'args', 'errnoRet'})
            for argument in rule.get('args', ()):
                self.assertLessEqual(set(argument), {'index', 'op', 'value', 'valueTwo'})

    def test_it_is_installed_by_its_name(self):
        self.assertEqual(os.path.basename(podlike.PROFILE), 'moli-sandbox.json')


if __name__ == '__main__':
    unittest.main()
