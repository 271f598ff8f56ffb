import { type AbuseCase, MIB, PROBE, SHORT } from '../expectation.ts';

const THREADS = `import threading, time
while True:
    threading.Thread(target=time.sleep, args=(60,)).start()
`;

/** Processes, signals, time: cases 1 to 5 and 10 to 12. */
export const PROCESS_CASES: readonly AbuseCase[] = [
  {
    id: 1,
    what: 'fork bomb',
    variants: [
      {
        name: 'os.fork in a loop',
        code: 'import os\nwhile True: os.fork()',
        verdict: 'user_error',
        error: 'PermissionError',
      },
      {
        name: 'the one of the shell',
        code: "import subprocess\nsubprocess.run(['bash', '-c', ':(){ :|:& };:'])",
        verdict: 'user_error',
        error: 'PermissionError',
      },
      { name: 'threads', code: THREADS, verdict: 'pids_limit', limits: { pids: 32 } },
      {
        name: 'threads that do not give up',
        code: `import threading, time
while True:
    try: threading.Thread(target=time.sleep, args=(60,)).start()
    except RuntimeError: pass
`,
        verdict: ['timeout_wall', 'pids_limit'],
        limits: { ...SHORT, pids: 32 },
      },
      {
        name: 'threads that start threads',
        code: `import threading
def more():
    while True:
        try: threading.Thread(target=more).start()
        except RuntimeError: pass
more()
`,
        verdict: ['timeout_wall', 'pids_limit'],
        // Threads at work in the kernel use several processors: with as little of their time as of the clock's, theirs could be up first.
        limits: { ...SHORT, cpuSeconds: 30, pids: 32 },
      },
      {
        name: 'raw clone, vfork and clone3',
        code: `${PROBE}
for name, number, flags in (('clone', 56, 17), ('clone_vfork', 56, 0x4111), ('fork', 57, 0), ('vfork', 58, 0), ('clone3', 435, 0)):
    for _ in range(300): attempt(name, lambda: call(number, flags, 0, 0, 0, 0))
report()
`,
        answers: ['EPERM', 'ENOSYS'],
      },
      {
        name: 'a pool of processes stays within the run',
        code: `import multiprocessing
with multiprocessing.Pool(4) as pool: print(pool.map(abs, [-1, -2]))
`,
        stdout: '[1, 2]\n',
      },
    ],
  },
  {
    id: 2,
    what: 'what goes on past the end',
    variants: [
      {
        name: 'daemon by double fork and setsid',
        code: 'import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n',
        verdict: 'user_error',
        error: 'PermissionError',
      },
      {
        name: 'a thread that is no daemon',
        code: "import threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\nprint('end')",
        stdout: 'end\n',
      },
      {
        name: 'a thread that writes for ever',
        code: `import threading
def scribble():
    while True: open('/tmp/scribble', 'w').write('x')
threading.Thread(target=scribble).start()
print('end')
`,
        stdout: 'end\n',
      },
      {
        name: 'a shell in the background',
        code: "import subprocess\nsubprocess.Popen('sleep 600 &', shell=True, start_new_session=True)",
        verdict: 'user_error',
        error: 'PermissionError',
      },
      {
        name: 'atexit that sleeps',
        code: "import atexit, time\natexit.register(time.sleep, 600)\nprint('end', flush=True)",
        verdict: 'timeout_wall',
        limits: SHORT,
        stdout: 'end\n',
      },
    ],
  },
  {
    id: 3,
    what: 'signals ignored',
    variants: [
      {
        name: 'every signal that can be',
        code: `import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try: signal.signal(number, signal.SIG_IGN)
    except OSError: pass
while True: pass
`,
        verdict: 'timeout_wall',
        limits: { ...SHORT, cpuSeconds: 30 },
        signal: ['SIGKILL'],
      },
      {
        name: 'every signal blocked',
        code: 'import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())\ntime.sleep(600)',
        verdict: 'timeout_wall',
        limits: SHORT,
        signal: ['SIGKILL'],
      },
      {
        name: 'CPU time with SIGXCPU ignored',
        code: 'import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass',
        verdict: 'timeout_cpu',
        limits: { wallSeconds: 30, cpuSeconds: 0.5 },
      },
      {
        name: 'every exception swallowed',
        code: 'import time\nwhile True:\n    try: time.sleep(600)\n    except BaseException: pass',
        verdict: 'timeout_wall',
        limits: SHORT,
      },
    ],
  },
  {
    id: 4,
    what: 'processors taken',
    variants: [
      {
        name: 'threads of Python',
        code: 'import threading\ndef spin():\n    while True: pass\nfor _ in range(8): threading.Thread(target=spin).start()\nspin()',
        verdict: 'timeout_wall',
        limits: { ...SHORT, cpuSeconds: 30 },
      },
      {
        name: 'threads of a library, without the interpreter lock',
        code: `import hashlib, threading
block = bytes(32 << 20)
def spin():
    while True: hashlib.sha256(block)
for _ in range(8): threading.Thread(target=spin).start()
spin()
`,
        verdict: 'timeout_wall',
        limits: { wallSeconds: 3, cpuSeconds: 30 },
      },
      {
        name: 'CPU time of all threads together',
        code: 'import threading\ndef spin():\n    while True: pass\nfor _ in range(4): threading.Thread(target=spin).start()\nspin()',
        verdict: 'timeout_cpu',
        limits: { wallSeconds: 30, cpuSeconds: 0.5 },
      },
    ],
  },
  {
    id: 5,
    what: 'stopped, so that no CPU time passes',
    variants: [
      ['kill', 'os.kill(os.getpid(), signal.SIGSTOP)'],
      ['kill of the group', 'os.kill(0, signal.SIGSTOP)'],
      ['the terminal stop', 'signal.raise_signal(signal.SIGTSTP)'],
      ['a thread', 'signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)'],
      ['pause', 'signal.pause()'],
    ].map(([name = '', stop]) => ({
      name,
      code: `import os, signal, threading, time\n${stop}\ntime.sleep(600)`,
      verdict: 'timeout_wall' as const,
      limits: { wallSeconds: 0.5 },
    })),
  },
  {
    id: 10,
    what: 'crash',
    variants: [
      { name: 'recursion', code: 'def f(): f()\nf()', verdict: 'user_error', error: 'RecursionError' },
      {
        name: 'recursion without a bound',
        code: 'import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f() + 1\nf()',
        verdict: ['memory_limit', 'signalled', 'timeout_wall', 'timeout_cpu'],
        limits: { wallSeconds: 5, memoryBytes: 128 * MIB },
      },
      {
        name: 'recursion in C',
        code: 'import sys\nsys.setrecursionlimit(10**9)\nx = []\nfor _ in range(10**5): x = [x]\nrepr(x)',
        verdict: 'signalled',
        limits: { wallSeconds: 10 },
        signal: ['SIGSEGV'],
      },
      { name: 'null pointer', code: 'import ctypes\nctypes.string_at(0)', verdict: 'signalled', signal: ['SIGSEGV'] },
      {
        name: 'abort',
        code: "import os\nprint('before', flush=True)\nos.abort()",
        verdict: 'signalled',
        signal: ['SIGSEGV', 'SIGABRT'],
        stdout: 'before\n',
      },
      {
        name: 'illegal instruction',
        code: `import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes([0x0f, 0x0b]))
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
`,
        verdict: ['signalled', 'user_error'],
      },
      {
        name: 'no core file, even when asked for',
        code: `import resource, ctypes
try: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2)
except (ValueError, OSError) as error: print(type(error).__name__, flush=True)
ctypes.string_at(0)
`,
        verdict: 'signalled',
        stdout: /^(ValueError|PermissionError)\n$/,
        artifacts: [],
      },
    ],
  },
  {
    id: 11,
    what: 'interpreter replaced',
    variants: [
      ['a shell', "os.execv('/bin/sh', ['sh', '-c', 'echo taken'])"],
      ['another Python', "os.execv(sys.executable, ['python', '-c', 'print(1)'])"],
      ['by descriptor', "os.execve(os.open('/usr/bin/python3', os.O_RDONLY), ['python3'], {})"],
      ['by the loader', "os.execv('/lib64/ld-linux-x86-64.so.2', ['ld.so', '/bin/sh'])"],
    ].map(([name = '', exec]) => ({
      name,
      code: `import os, sys\n${exec}`,
      verdict: 'user_error' as const,
      error: 'PermissionError',
      stdout: '',
    })),
  },
  {
    id: 12,
    what: 'ends that look like failures, and the other way round',
    variants: [
      {
        name: 'sys.exit(0)',
        code: "import sys\nprint('kept')\nsys.exit(0)",
        stdout: 'kept\n',
        result: { exitCode: 0 },
      },
      { name: 'sys.exit()', code: "import sys\nprint('kept')\nsys.exit()", stdout: 'kept\n', result: { exitCode: 0 } },
      { name: 'os._exit(0)', code: "import os\nprint('kept', flush=True)\nos._exit(0)", stdout: 'kept\n' },
      {
        name: 'os._exit(7)',
        code: "import os\nprint('kept', flush=True)\nos._exit(7)",
        verdict: 'user_error',
        stdout: 'kept\n',
        result: { exitCode: 7 },
      },
      {
        name: 'sys.exit with words',
        code: "import sys\nprint('kept')\nsys.exit('words')",
        verdict: 'user_error',
        stdout: 'kept\n',
        stderr: /words/,
        result: { exitCode: 1 },
      },
      {
        name: 'atexit prints',
        code: "import atexit\natexit.register(print, 'last')\nprint('kept')",
        stdout: 'kept\nlast\n',
      },
      {
        name: 'streams closed early',
        code: "import os\nprint('kept', flush=True)\nos.close(1); os.close(2)",
        stdout: 'kept\n',
      },
      {
        name: 'every descriptor closed',
        code: "import os\nprint('kept', flush=True)\nos.closerange(0, 512)",
        verdict: ['ok', 'user_error'],
        stdout: 'kept\n',
      },
      {
        name: 'sys.stdout replaced by nothing',
        code: "import sys\nprint('kept', flush=True)\nsys.stdout = sys.stderr = None",
        stdout: 'kept\n',
      },
    ],
  },
];
