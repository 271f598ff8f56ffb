#!/usr/bin/python3
"""Makes the seccomp profile of a Pod's container `sandbox` from seccomp.json and what the trusted parts need to build the box.

    /usr/bin/python3 sandbox/pod_seccomp.py --write k8s/seccomp/moli-sandbox.json
    /usr/bin/python3 sandbox/pod_seccomp.py --check k8s/seccomp/moli-sandbox.json      # exit status 1 when the file is not what would be made

The profile binds the keeper, the zygote and the monitors; user code has seccomp.json on top of it, and the kernel takes the stricter of the two. So
it must allow all that seccomp.json allows, or programs would behave otherwise in a Pod than on one machine. It is in the format of Kubernetes
(OCI runtime specification) for x86_64 and aarch64.
"""
import sys

sys.dont_write_bytecode = True

import argparse  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from moli_sandbox import seccomp  # noqa: E402

COMMENT = (
    'Made by sandbox/pod_seccomp.py; change seccomp.json or that file. For the container `sandbox` of a Pod: what user code may call (it has the '
    'stricter sandbox/seccomp.json besides) and what building the box around it takes. No network but AF_UNIX for anything in the container.'
)
# linux/sched.h: CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}: made by unshare alone, never by clone.
CLONE_NAMESPACES = 0x7E020000
AF_UNIX = 1
# linux/prctl.h
PRCTL_OPTIONS = {
    'PR_SET_PDEATHSIG': 1, 'PR_SET_DUMPABLE': 4, 'PR_CAPBSET_READ': 23, 'PR_CAPBSET_DROP': 24, 'PR_SET_NO_NEW_PRIVS': 38, 'PR_CAP_AMBIENT': 47,
}
# Rules of seccomp.json that a wider one below takes the place of.
REPLACED = {'socket', 'clone', 'fcntl', 'sendto', 'recvfrom', 'getsockopt'}


def allow(comment, *names, **argument):
    """One rule, with a condition on one argument where one is given."""
    rule = {'comment': comment, 'action': 'SCMP_ACT_ALLOW', 'names': list(names)}
    return {**rule, 'args': [argument]} if argument else rule


TRUSTED = [
    allow('the container starts; init and zygote are programs of their own', 'execve'),
    allow('processes: no namespace flag, those are for unshare', 'clone', index=0, op='SCMP_CMP_MASKED_EQ', value=CLONE_NAMESPACES, valueTwo=0),
    allow('the box and the walls of a run: namespaces and file system', 'unshare', 'setns', 'mount', 'mount_setattr', 'umount2', 'pivot_root', 'sethostname'),
    allow('the walls of a run: what is given up for good', 'capset', 'seccomp', 'landlock_create_ruleset', 'landlock_add_rule', 'landlock_restrict_self'),
    allow("the zygote's image; programs have neither the call nor the file", 'memfd_create'),
    allow('processes by descriptor', 'pidfd_open', 'pidfd_send_signal'),
    allow('the socket that the courier connects to: AF_UNIX in all 64 bits, nothing else', 'socket', index=0, op='SCMP_CMP_EQ', value=AF_UNIX),
    allow('the same', 'bind', 'listen', 'accept4', 'connect'),
    allow('data, descriptors and credentials between the trusted parts', 'sendto', 'recvfrom', 'sendmsg', 'recvmsg', 'getsockopt', 'setsockopt'),
    allow("descriptors of their own, and the seals of the zygote's image", 'fcntl'),
    *(allow(name, 'prctl', index=0, op='SCMP_CMP_EQ', value=value) for name, value in PRCTL_OPTIONS.items()),
]


def make(policy):
    """The profile: all of `policy` (as load_policy reads it) and what the trusted parts need more."""
    kept = [rule for rule in policy['syscalls'] if not REPLACED & set(rule['names'])]
    return {
        'comment': COMMENT,
        'defaultAction': policy['defaultAction'],
        'defaultErrnoRet': policy['defaultErrnoRet'],
        'architectures': policy['architectures'],
        'syscalls': kept + TRUSTED,
    }


def text(profile):
    """The file's content: one rule a line, so that a change is read as one."""
    rules = ',\n'.join(f'    {json.dumps(rule, ensure_ascii=False)}' for rule in profile['syscalls'])
    head = ''.join(f'  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n' for key, value in profile.items() if key != 'syscalls')
    return f'{{\n{head}  "syscalls": [\n{rules}\n  ]\n}}\n'


def main(arguments):
    parser = argparse.ArgumentParser(description='Make the seccomp profile of a sandbox Pod.')
    parser.add_argument('--write', metavar='FILE', help='write it there instead of to stdout')
    parser.add_argument('--check', metavar='FILE', help='compare the file with what would be written')
    options = parser.parse_args(arguments)
    made = text(make(seccomp.load_policy(os.path.join(HERE, 'seccomp.json'))))
    if options.check:
        with open(options.check, encoding='utf-8') as file:
            if file.read() == made:
                return 0
        print(f'{options.check} is not what sandbox/seccomp.json gives; run: /usr/bin/python3 sandbox/pod_seccomp.py --write {options.check}', file=sys.stderr)
        return 1
    if options.write:
        with open(options.write, 'w', encoding='utf-8') as file:
            file.write(made)
    else:
        print(made, end='')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
