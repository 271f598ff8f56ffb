import type { RunLimits, Verdict } from '@moli/queue';

/** One hostile program and what it must get. Data alone, so that every runner is held to the same words. */
export interface Variant {
  readonly name: string;
  /** `{{ports}}` and `{{pids}}` become lists of the ports and processes of this very Moli, `{{dataDir}}` its data folder. */
  readonly code: string;
  /** One of these; `ok` when absent. */
  readonly verdict?: Verdict | readonly Verdict[];
  readonly limits?: Partial<RunLimits>;
  /** Input files by the name that the run gives them. */
  readonly inputs?: Readonly<Record<string, string>>;
  /** The whole of standard output, or a pattern in it. */
  readonly stdout?: string | RegExp;
  readonly stderr?: string | RegExp;
  /** Standard output is one JSON object of attempts; each value must be one of these. */
  readonly answers?: readonly (string | null)[];
  /** Name of the error that the result tells. */
  readonly error?: string;
  readonly signal?: readonly string[];
  /** Which streams were cut. */
  readonly truncated?: { readonly stdout: boolean; readonly stderr: boolean };
  /** Exact bytes of standard output, in hexadecimal. */
  readonly bytes?: string;
  /** Names of all artifacts; none when absent and the verdict is `ok`. */
  readonly artifacts?: readonly string[];
  /** Contents of some artifacts. */
  readonly contents?: Readonly<Record<string, string>>;
  /** Passed over when artifacts were collected: name and reason. */
  readonly skipped?: Readonly<Record<string, string>>;
  /** More to hold for the result, as `toMatchObject` reads it. */
  readonly result?: Readonly<Record<string, unknown>>;
  /** What another tenant runs right afterwards, and what it prints; by default a look at the folders that must be empty. */
  readonly next?: { readonly code: string; readonly stdout: string };
}

/** One kind of attack; `id` is its number in the catalogue of abuse. */
export interface AbuseCase {
  readonly id: number;
  readonly what: string;
  readonly variants: readonly Variant[];
}

/** Seconds, bytes: small, so that the whole suite stays short. */
export const MIB = 1024 * 1024;
export const SHORT = { wallSeconds: 1.5 } as const;

/** What a refusal may be called; which one depends on the layer that is reached first. */
export const REFUSED = ['EPERM', 'EACCES', 'ENOENT', 'EROFS', 'ENOSYS', 'ESRCH', 'ENOTDIR'] as const;

/**
 * For programs that try many things and print `{ attempt: how it ended }`: null means that it worked, else the name of the errno or exception.
 * `call` makes a raw system call.
 */
export const PROBE = `import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
answers = {}
def call(*arguments):
    ctypes.set_errno(0)
    if libc.syscall(*[ctypes.c_long(a) for a in arguments]) == -1:
        raise OSError(ctypes.get_errno(), '')
def attempt(name, action):
    try:
        action()
        answers[name] = None
    except OSError as error:
        answers[name] = errno.errorcode.get(error.errno, type(error).__name__)
    except Exception as error:
        answers[name] = type(error).__name__
def report():
    print(json.dumps(answers))
`;
