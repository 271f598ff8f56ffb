"""Compiles seccomp.json (the OCI format) to raw BPF, without libseccomp.

The whole number line of system calls is cut into segments with one action each, and a balanced tree of comparisons finds the segment: about
eight jumps a call instead of one for each name.
"""
import errno
import json
import struct

from .syscall_numbers import NUMBERS

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
LOAD, JUMP, JUMP_EQUAL, JUMP_GREATER_EQUAL, AND, RETURN = 0x20, 0x05, 0x15, 0x35, 0x54, 0x06
RETURN_ALLOW, RETURN_ERRNO, RETURN_KILL = 0x7FFF0000, 0x00050000, 0x80000000
AUDIT_ARCHITECTURE = {'x86_64': 0xC000003E, 'aarch64': 0xC00000B7}
# struct seccomp_data: nr, arch, instruction_pointer, args[6]; both machines are little endian.
OFFSET_NUMBER, OFFSET_ARCHITECTURE, OFFSET_ARGUMENTS = 0, 4, 16
# x86-64 calls with this bit go through the x32 table, which has its own numbers.
X32_BIT = 0x40000000
LOW = 0xFFFFFFFF
ACTIONS = {'SCMP_ACT_ALLOW', 'SCMP_ACT_ERRNO'}
COMPARISONS = {'SCMP_CMP_EQ', 'SCMP_CMP_MASKED_EQ'}


class PolicyError(Exception):
    """The policy file says something that this compiler does not do."""


def load_policy(path):
    """Reads the policy file; raises PolicyError on anything not understood (a rule passed over would be a hole)."""
    with open(path, encoding='utf-8') as file:
        policy = json.load(file)
    if policy.get('defaultAction') != 'SCMP_ACT_ERRNO':
        raise PolicyError('the default must be SCMP_ACT_ERRNO')
    for rule in policy['syscalls']:
        if rule['action'] not in ACTIONS:
            raise PolicyError(f'action {rule["action"]} is not known')
        for argument in rule.get('args', []):
            if argument['op'] not in COMPARISONS:
                raise PolicyError(f'comparison {argument["op"]} is not known')
            if rule['action'] != 'SCMP_ACT_ALLOW':
                raise PolicyError('only an allowing rule may look at arguments')
    return policy


def rules_by_number(policy, machine):
    """{ number: [rule, …] } of the calls that the machine has. Raises PolicyError for a name that no machine has."""
    numbers = NUMBERS[machine]
    found = {}
    for rule in policy['syscalls']:
        for name in rule['names']:
            if all(name not in table for table in NUMBERS.values()):
                raise PolicyError(f'system call {name} has no number')
            if name in numbers:
                found.setdefault(numbers[name], []).append(rule)
    return found


def decide(policy, numbered, number, arguments=(0,) * 6):
    """What the policy answers to one call: 'allow' or an errno. The plain meaning of the file, which tests hold the compiled code to.

    `numbered` is rules_by_number of the machine.
    """
    rules = numbered.get(number)
    if rules is None:
        return errno.ENOSYS if number > policy['newestKnownSyscall'] else policy['defaultErrnoRet']
    for rule in rules:
        if all(_matches(argument, arguments[argument['index']]) for argument in rule.get('args', [])):
            return 'allow' if rule['action'] == 'SCMP_ACT_ALLOW' else rule['errnoRet']
    return policy['defaultErrnoRet']


def _matches(argument, value):
    if argument['op'] == 'SCMP_CMP_EQ':
        return value == argument['value']
    return value & argument['value'] == argument['valueTwo']


def _instruction(code, value, when_true=0, when_false=0):
    return struct.pack('=HBBI', code, when_true, when_false, value & LOW)


def _answer(action):
    return _instruction(RETURN, RETURN_ALLOW if action == 'allow' else RETURN_ERRNO | action)


def _compare_word(offset, mask, value, words_after):
    """Goes on when the 32-bit word, masked, equals value; else jumps over the words that follow."""
    code = [_instruction(LOAD, offset)]
    if mask != LOW:
        code.append(_instruction(AND, mask))
    code.append(_instruction(JUMP_EQUAL, value, 0, words_after))
    return code


def _rule_code(rules, default):
    """Code of one call: tries its rules in order, each ending in an answer."""
    code = []
    for rule in rules:
        body = [_answer('allow' if rule['action'] == 'SCMP_ACT_ALLOW' else rule['errnoRet'])]
        for argument in reversed(rule.get('args', [])):
            masked = argument['op'] == 'SCMP_CMP_MASKED_EQ'
            mask = argument['value'] if masked else (1 << 64) - 1
            value = argument['valueTwo'] if masked else argument['value']
            offset = OFFSET_ARGUMENTS + 8 * argument['index']
            for shift, at in ((32, offset + 4), (0, offset)):
                if mask >> shift & LOW:
                    body = _compare_word(at, mask >> shift & LOW, value >> shift & LOW, len(body)) + body
        code += body
    if rules[-1].get('args'):
        code.append(_answer(default))
    return code


def _segments(policy, machine):
    """[(first number, code)] in rising order, covering every number."""
    rules = rules_by_number(policy, machine)
    default, unknown = policy['defaultErrnoRet'], errno.ENOSYS
    cuts = {0, policy['newestKnownSyscall'] + 1} | set(rules) | {number + 1 for number in rules}
    segments = []
    for first in sorted(cuts):
        if first in rules:
            code = _rule_code(rules[first], default)
        else:
            code = [_answer(unknown if first > policy['newestKnownSyscall'] else default)]
        if not segments or segments[-1][1] != code or first in rules and rules[first][0].get('args'):
            segments.append((first, code))
    return segments


def _tree(segments):
    if len(segments) == 1:
        return segments[0][1]
    middle = len(segments) // 2
    left, right = _tree(segments[:middle]), _tree(segments[middle:])
    # The accumulator may hold an argument only in a leaf, so the number is still loaded here.
    if len(left) <= 255:
        return [_instruction(JUMP_GREATER_EQUAL, segments[middle][0], len(left), 0)] + left + right
    return [_instruction(JUMP_GREATER_EQUAL, segments[middle][0], 0, 1), _instruction(JUMP, len(left))] + left + right


def compile_policy(policy, machine):
    """BPF of the policy for one machine ('x86_64', 'aarch64'): bytes, 8 an instruction. Another architecture's calls kill the process."""
    code = [
        _instruction(LOAD, OFFSET_ARCHITECTURE),
        _instruction(JUMP_EQUAL, AUDIT_ARCHITECTURE[machine], 1, 0),
        _instruction(RETURN, RETURN_KILL),
        _instruction(LOAD, OFFSET_NUMBER),
    ]
    if machine == 'x86_64':
        code += [_instruction(JUMP_GREATER_EQUAL, X32_BIT, 0, 1), _instruction(RETURN, RETURN_KILL)]
    return b''.join(code + _tree(_segments(policy, machine)))
