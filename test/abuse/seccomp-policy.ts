import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { SANDBOX_DIR } from '@moli/testing';

interface Condition {
  readonly index: number;
  readonly value: number;
  readonly valueTwo?: number;
  readonly op: 'SCMP_CMP_EQ' | 'SCMP_CMP_MASKED_EQ';
}

interface Rule {
  readonly names: readonly string[];
  readonly action: 'SCMP_ACT_ALLOW' | 'SCMP_ACT_ERRNO';
  readonly errnoRet?: number;
  readonly args?: readonly Condition[];
}

export interface Policy {
  readonly defaultErrnoRet: number;
  readonly newestKnownSyscall: number;
  readonly syscalls: readonly Rule[];
}

const ENOSYS = 38;
/** Arguments are unsigned words of 64 bits. */
const WORD = (1n << 64n) - 1n;

export function readPolicy(): Policy {
  return JSON.parse(readFileSync(`${SANDBOX_DIR}/seccomp.json`, 'utf8')) as Policy;
}

/** Numbers of the calls that the policy names, on x86-64. */
export function callNumbers(): Map<string, number> {
  const print =
    'import json, sys; sys.dont_write_bytecode = True; from moli_sandbox.syscall_numbers import NUMBERS; print(json.dumps(NUMBERS["x86_64"]))';
  const text = execFileSync('python3', ['-c', print], { cwd: SANDBOX_DIR, encoding: 'utf8' });
  return new Map(Object.entries(JSON.parse(text) as Record<string, number>));
}

/** What the policy file says to a call with six times the same argument: an errno, or that it is made. Written apart from the compiler of the filter. */
export function answerOf(
  policy: Policy,
  numbers: ReadonlyMap<string, number>,
  number: number,
  argument: bigint,
): number | 'allow' {
  const rules = policy.syscalls.filter(({ names }) => names.some((name) => numbers.get(name) === number));
  if (rules.length === 0) return number > policy.newestKnownSyscall ? ENOSYS : policy.defaultErrnoRet;
  const rule = rules.find(({ args = [] }) => args.every((condition) => holds(condition, argument & WORD)));
  if (!rule) return policy.defaultErrnoRet;
  return rule.action === 'SCMP_ACT_ALLOW' ? 'allow' : (rule.errnoRet ?? policy.defaultErrnoRet);
}

function holds({ op, value, valueTwo = 0 }: Condition, argument: bigint): boolean {
  return op === 'SCMP_CMP_EQ' ? argument === BigInt(value) : (argument & BigInt(value)) === BigInt(valueTwo);
}
