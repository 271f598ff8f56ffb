import { arch } from 'node:os';
import { describe, expect, test } from 'vitest';
import { PROBE } from './expectation.ts';
import type { Ground } from './ground.ts';
import { execute } from './oracle.ts';
import { answerOf, callNumbers, readPolicy } from './seccomp-policy.ts';

/** Calls that end, stop or wait for ever when really made, or take memory away from under the interpreter. */
const NOT_CALLED = [
  'exit exit_group pause rt_sigreturn rt_sigsuspend restart_syscall kill tkill tgkill close_range munmap mremap brk arch_prctl',
  'set_tid_address set_robust_list sigaltstack rt_sigaction rt_sigprocmask alarm setitimer select poll ppoll pselect6 read dup2 dup3',
  'close futex wait4 waitid rseq mprotect madvise umask chdir fchdir pread64 clone',
]
  .join(' ')
  .split(' ');
/** uretprobe and uprobe: since Linux 6.11 the kernel takes them past every filter and answers SIGILL to whoever is no probe. */
const PAST_EVERY_FILTER = [335, 336];
const HIGHEST = 470;
const EPERM = 1;
const ENOSYS = 38;

/** Case 54 on any ground. `ended` is awaited after a program that died by it. */
export function systemCallCases(ground: () => Ground, ended: () => Promise<void>): void {
  describe.runIf(arch() === 'x64')('case 54: system calls', () => {
    test('every number answers as the policy says', async () => {
      const policy = readPolicy();
      const numbers = callNumbers();
      const skipped = [...NOT_CALLED.map((name) => numbers.get(name)), ...PAST_EVERY_FILTER];
      // Arguments that no allowed call does harm with: bad descriptors and addresses.
      const code = `${PROBE}
seen = {}
for number in range(0, ${HIGHEST + 1}):
    if number not in ${JSON.stringify(skipped.filter((number) => number !== undefined))}:
        ctypes.set_errno(0)
        seen[number] = ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6) == -1 else 0
print(json.dumps(seen))
`;
      const { verdict, stdout, stderr } = await execute(ground().api, { code });
      expect(verdict, stderr).toBe('ok');
      const seen = Object.entries(JSON.parse(stdout) as Record<string, number>);
      expect(seen).toHaveLength(HIGHEST + 1 - skipped.length);
      const wrong = seen.filter(([number, answer]) => {
        const expected = answerOf(policy, numbers, Number(number), -1n);
        // An allowed call refuses these arguments by itself; EPERM and ENOSYS are what the filter says.
        return expected === 'allow' ? [EPERM, ENOSYS].includes(answer) : answer !== expected;
      });
      expect(wrong).toEqual([]);
    });

    test.each([
      ['x32', 'call(0x40000000 | 39)', 'signalled'],
      [
        'int 0x80',
        `import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())`,
        'signalled',
      ],
    ])('the entry by %s is closed', async (_, attempt, verdict) => {
      expect(await execute(ground().api, { code: `${PROBE}\n${attempt}` })).toMatchObject({ verdict });
      await ended();
    });
  });
}
