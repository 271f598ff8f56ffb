import { type AbuseCase, PROBE, REFUSED } from '../expectation.ts';

/** Writes the memory of the program itself, as far as it can be reached without a map of it, to a file that the suite searches. */
const DUMP = `import ctypes, gc, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
libc.sbrk.restype = ctypes.c_void_p
libc.sbrk.argtypes = [ctypes.c_long]
PAGE, MOST = 4096, 24 << 20
# Found again in what was written: the search has something to search in.
markers = [f'marker-of-{n}' for n in range(8)]
out = os.open('memory.bin', os.O_CREAT | os.O_WRONLY)
seen, written = set(), 0
def dump(page):
    """Writes one page; False where nothing is mapped."""
    global written
    if page in seen: return True
    if libc.write(out, page, PAGE) < 0: return False
    seen.add(page)
    written += PAGE
    return True
def spread(address, pages):
    start = address // PAGE * PAGE
    for step in (PAGE, -PAGE):
        page = start
        for _ in range(pages):
            if written > MOST or not dump(page): break
            page += step
local = ctypes.c_int()
spread(ctypes.addressof(local), 256)
environ = ctypes.c_void_p.in_dll(libc, 'environ').value
spread(environ, 64)
stack = ctypes.cast(environ, ctypes.POINTER(ctypes.c_void_p))[0]
if stack: spread(stack, 64)
top = libc.sbrk(0)
page = top // PAGE * PAGE - PAGE
while written < MOST // 2 and dump(page): page -= PAGE
# The newest first: what came in with the job.
for item in reversed(gc.get_objects()):
    if written > MOST: break
    spread(id(item), 2)
    for part in gc.get_referents(item): spread(id(part), 1)
print(written > 1 << 20, ('marker-of-' + str(len('heap'))).encode() in open('memory.bin', 'rb').read())
`;

/** Cases 41, 42, 45, 67. What they print is searched for the secrets, as the output of every other case is. */
export const SECRET_CASES: readonly AbuseCase[] = [
  {
    id: 41,
    what: 'secrets of others',
    variants: [
      {
        name: 'of processes by /proc',
        code: `${PROBE}
for pid in (1, 2, 3, os.getpid(), os.getppid(), 'self', 'thread-self', *{{pids}}):
    for name in ('environ', 'cmdline', 'mem', 'maps', 'fd/3', 'root/etc/shadow', 'cwd', 'exe', 'status', 'mountinfo', 'cgroup', 'task/1/environ'):
        attempt(f'{pid}/{name}', lambda: print(open(f'/proc/{pid}/{name}', 'rb').read(), file=sys.stderr))
report()
`,
        answers: REFUSED,
      },
      {
        name: 'everything in /proc and /sys, listed and read',
        code: `import os
for top in ('/proc', '/sys', '/run', '/var', '/root', '/home', '/etc', '{{dataDir}}'):
    for folder, _, files in os.walk(top):
        for name in files[:50]:
            try: print(folder, name, open(os.path.join(folder, name), 'rb').read(4096))
            except OSError: pass
for folder in ('/proc', '/sys', '{{dataDir}}'):
    try: print(os.listdir(folder))
    except OSError: print('closed')
`,
        limits: { wallSeconds: 10, outputBytes: 4 << 20 },
        stdout: /(closed\n){3}$/,
      },
      {
        name: 'the environment and the arguments',
        code: `import ctypes, json, os, sys
print(json.dumps(dict(os.environ)), sys.argv, sys.orig_argv, sys.flags, os.uname())
libc = ctypes.CDLL(None)
environ, at = ctypes.cast(ctypes.c_void_p.in_dll(libc, 'environ').value, ctypes.POINTER(ctypes.c_char_p)), 0
while environ[at]:
    print(environ[at])
    at += 1
libc.getauxval.restype = ctypes.c_void_p
print(ctypes.string_at(libc.getauxval(31)))
print(any(word in name for name in os.environ for word in ('MOLI', 'SECRET', 'REDIS', 'DATABASE', 'KEY')))
`,
        stdout: /False\n$/,
      },
      {
        name: 'the memory of the program',
        code: DUMP,
        limits: { wallSeconds: 20, cpuSeconds: 20 },
        stdout: 'True True\n',
        artifacts: ['memory.bin'],
      },
      {
        name: 'the memory of the program after reading an input',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: `print(open('in.csv').read())\n${DUMP}`,
        limits: { wallSeconds: 20, cpuSeconds: 20 },
        stdout: /True True\n$/,
        artifacts: ['memory.bin'],
      },
      {
        name: 'the memory of processes by system calls',
        code: `${PROBE}
for pid in (1, 2, 3, 4, os.getppid(), *{{pids}}):
    attempt(f'ptrace {pid}', lambda: call(101, 16, pid, 0, 0))
    attempt(f'process_vm_readv {pid}', lambda: call(310, pid, 0, 0, 0, 0, 0))
    attempt(f'pidfd_open {pid}', lambda: call(434, pid, 0))
    attempt(f'kcmp {pid}', lambda: call(312, pid, pid, 0, 0, 0))
report()
`,
        answers: REFUSED,
      },
    ],
  },
  {
    id: 42,
    what: 'links and paths of the run’s own files',
    variants: [
      {
        name: 'not in anything that the program can look at',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: `import gc, os, sys, traceback
text = ' '.join([repr(dict(os.environ)), repr(sys.argv), repr(os.listdir('.')), repr(os.listdir('/opt')), repr(os.stat('in.csv'))])
needles = ['/obj' + 'ects/', 'signa' + 'ture=', 'ht' + 'tp://127.', 'red' + 'is://', 'post' + 'gres://', 'ten' + '_']
held = [x for x in gc.get_objects() if isinstance(x, (dict, list, tuple))]
print([needle for needle in needles if needle in text])
print([needle for needle in needles for x in held for part in (x.values() if isinstance(x, dict) else x) if isinstance(part, str) and x is not needles and needle in part and len(part) < 200 and part not in needles][:3])
`,
        limits: { wallSeconds: 10 },
        stdout: '[]\n[]\n',
      },
      {
        name: 'not in an error about the input',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: "import pandas as pd\npd.read_csv('in.csv')['absent']",
        verdict: 'user_error',
        error: 'KeyError',
      },
    ],
  },
  {
    id: 45,
    what: 'traces for a later run of another tenant',
    variants: [
      {
        name: 'environment, modules, threads, pickles',
        code: `import os, pickle, sys, threading, time
os.environ['LEFT'] = 'left'
sys.modules['left'] = sys
pickle.dump('left', open('/tmp/left.pickle', 'wb'))
threading.Thread(target=time.sleep, args=(60,), name='left').start()
os.umask(0)
os.chdir('/tmp')
`,
        next: {
          code: `import os, sys, threading
print(os.environ.get('LEFT'), 'left' in sys.modules, os.path.exists('/tmp/left.pickle'), [t.name for t in threading.enumerate() if t.name == 'left'], os.getcwd(), os.umask(0) != 0)`,
          stdout: 'None False False [] /workspace True\n',
        },
      },
      {
        name: 'System V memory, semaphores, queues; POSIX queues; keys; abstract sockets',
        code: `${PROBE}
import socket
attempt('shmget', lambda: call(29, 4711, 4096, 0o1666))
attempt('semget', lambda: call(64, 4711, 1, 0o1666))
attempt('msgget', lambda: call(68, 4711, 0o1666))
name = ctypes.create_string_buffer(b'left')
attempt('mq_open', lambda: call(240, ctypes.addressof(name), 0o102, 0o666, 0))
attempt('add_key', lambda: call(248, ctypes.addressof(name), ctypes.addressof(name), ctypes.addressof(name), 4, -4))
attempt('request_key', lambda: call(249, ctypes.addressof(name), ctypes.addressof(name), 0, -4))
attempt('socket', lambda: socket.socket(socket.AF_UNIX).bind('\\0left'))
report()
`,
        answers: REFUSED,
      },
    ],
  },
  {
    id: 67,
    what: 'inputs with the names of modules',
    variants: [
      {
        name: 'do not reach what is imported already',
        inputs: Object.fromEntries(
          [
            'json.py',
            'pandas.py',
            'numpy.py',
            'sitecustomize.py',
            'usercustomize.py',
            'os.py',
            'encodings.py',
            'moli_sandbox.py',
          ].map((name) => [name, `raise SystemExit('${name} was imported')\n`]),
        ),
        code: "import json, os\nimport numpy as np\nimport pandas as pd\nimport matplotlib.pyplot as plt\nprint(json.dumps(1), pd.DataFrame({'a': np.arange(2)}).shape)",
        stdout: '1 (2, 1)\n',
        next: {
          code: "import json, pandas\nprint(json.dumps(2), pandas.DataFrame({'a': [1]}).shape)",
          stdout: '2 (1, 1)\n',
        },
      },
      {
        name: 'touch only their own run',
        inputs: { 'colorsys.py': "print('mine')\n" },
        code: 'import colorsys',
        stdout: /^(mine\n)?$/,
        next: { code: 'import colorsys\nprint(hasattr(colorsys, "rgb_to_hsv"))', stdout: 'True\n' },
      },
    ],
  },
];
