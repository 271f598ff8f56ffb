import { type AbuseCase, MIB, PROBE, REFUSED } from '../expectation.ts';

const SMALL = { wallSeconds: 10, diskBytes: 2 * MIB } as const;
const PIECE = 'piece = bytes(1 << 16)\n';

/** Cases 18, 21 to 23, 27, 29, 31. */
export const FILE_CASES: readonly AbuseCase[] = [
  {
    id: 18,
    what: 'disk filled',
    variants: [
      {
        name: 'one file of 10 GB',
        code: `${PIECE}with open('x', 'wb') as f:\n    for _ in range(160_000): f.write(piece)`,
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'many files',
        code: `${PIECE}for n in range(160_000):\n    with open(f'x{n}', 'wb') as f: f.write(piece)`,
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'files without content',
        code: "for n in range(1_000_000): open(f'/tmp/{n}', 'w').close()",
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'the temporary folder',
        code: `${PIECE}with open('/tmp/x', 'wb') as f:\n    while True: f.write(piece)`,
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'reserved at once',
        code: "import os\nos.posix_fallocate(os.open('x', os.O_CREAT | os.O_RDWR), 0, 10 << 30)",
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'no room, and going on',
        code: `${PIECE}import errno
try:
    with open('/tmp/x', 'wb', buffering=0) as f:
        while True: f.write(piece)
except OSError as error: print(errno.errorcode[error.errno])
`,
        limits: SMALL,
        stdout: 'ENOSPC\n',
      },
      {
        name: 'a sparse terabyte is not read',
        code: "with open('x', 'wb') as f: f.truncate(1 << 40)\nprint('made')",
        limits: SMALL,
        stdout: 'made\n',
        artifacts: [],
        skipped: { x: 'too large' },
      },
    ],
  },
  {
    id: 21,
    what: 'symbolic links',
    variants: [
      {
        name: 'to files and folders of others',
        code: `import os
open('real.txt', 'w').write('real')
for name, target in (('passwd', '/etc/passwd'), ('environ', '/proc/self/environ'), ('folder', '/etc'), ('host', '{{dataDir}}'), ('up', '../..'), ('loop', 'loop'), ('own', 'real.txt')):
    os.symlink(target, name)
`,
        artifacts: ['real.txt'],
        skipped: {
          passwd: 'symlink',
          environ: 'symlink',
          folder: 'symlink',
          host: 'symlink',
          up: 'symlink',
          loop: 'symlink',
          own: 'symlink',
        },
      },
      {
        name: 'a file that is swapped with one all the time',
        code: `import os, threading
os.mkdir('d')
def swap():
    while True:
        for make in (lambda: open('d/x', 'w').write('mine'), lambda: os.symlink('/etc/passwd', 'd/x')):
            try:
                make()
                os.unlink('d/x')
            except OSError: pass
threading.Thread(target=swap).start()
for _ in range(100): os.listdir('d')
open('real.txt', 'w').write('real')
`,
        result: { stderr: '' },
        contents: { 'real.txt': 'real' },
      },
      {
        name: 'in the place of an input',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: "import os\nos.unlink('in.csv')\nos.symlink('/etc/passwd', 'in.csv')",
        artifacts: [],
        skipped: { 'in.csv': 'symlink' },
      },
      {
        name: 'in the place of the work folder',
        code: `${PROBE}
attempt('rename', lambda: os.rename('/workspace', '/tmp/w'))
attempt('remove', lambda: os.rmdir('/workspace'))
attempt('symlink', lambda: os.symlink('/etc', '/workspace/../mnt/x'))
report()
`,
        answers: [...REFUSED, 'EBUSY', 'EXDEV', 'ENOTEMPTY'],
      },
    ],
  },
  {
    id: 22,
    what: 'hard links',
    variants: [
      {
        name: 'to an input',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: "import os\nos.link('in.csv', 'again.csv')\nprint(open('again.csv').read(), end='')",
        stdout: 'a,b\n1,2\n',
        artifacts: [],
        skipped: { 'again.csv': 'hard link to an input' },
      },
      {
        name: 'to files of the system and of libraries',
        code: `${PROBE}
import json as module
for name in ('/etc/passwd', '/usr/bin/env', module.__file__, '/dev/zero'):
    attempt(name, lambda: os.link(name, 'linked'))
report()
`,
        answers: [...REFUSED, 'EXDEV'],
      },
    ],
  },
  {
    id: 23,
    what: 'files that are none',
    variants: [
      {
        name: 'pipes, sockets, devices',
        code: `${PROBE}
import socket
attempt('fifo', lambda: os.mkfifo('fifo'))
attempt('socket', lambda: socket.socket(socket.AF_UNIX).bind('socket'))
attempt('node of a socket', lambda: os.mknod('s', 0o140600))
attempt('zero', lambda: os.mknod('zero', 0o20666, os.makedev(1, 5)))
attempt('disk', lambda: os.mknod('disk', 0o60666, os.makedev(8, 0)))
report()
`,
        answers: ['EPERM', 'EACCES'],
      },
      {
        name: 'a device copied',
        code: "import shutil\nshutil.copyfileobj(open('/dev/zero', 'rb'), open('zero', 'wb'))",
        verdict: 'disk_limit',
        limits: SMALL,
      },
      {
        name: 'a device waited for',
        code: "while True: open('/dev/zero', 'rb').read(1 << 20)",
        verdict: ['timeout_wall', 'timeout_cpu'],
        limits: { wallSeconds: 1 },
      },
    ],
  },
  {
    id: 27,
    what: 'inputs changed',
    variants: [
      {
        name: 'overwritten',
        inputs: { 'in.csv': 'a,b\n1,2\n' },
        code: "open('in.csv', 'w').write('changed')",
        artifacts: ['in.csv'],
        contents: { 'in.csv': 'changed' },
      },
      {
        name: 'appended to and cut',
        inputs: { 'in.csv': 'a,b\n1,2\n', 'other.csv': 'x\n9\n' },
        code: "open('in.csv', 'a').write('3,4\\n')\nopen('other.csv', 'r+').truncate(2)",
        artifacts: ['in.csv', 'other.csv'],
        contents: { 'in.csv': 'a,b\n1,2\n3,4\n', 'other.csv': 'x\n' },
      },
      {
        name: 'deleted, renamed, mapped and written through',
        inputs: { 'in.csv': 'a,b\n1,2\n', 'other.csv': 'x\n9\n', 'third.csv': 'y\n7\n' },
        code: `import mmap, os
os.unlink('in.csv')
os.rename('other.csv', 'moved.csv')
with open('third.csv', 'r+b') as file: mmap.mmap(file.fileno(), 0)[:1] = b'Z'
`,
        result: { verdict: 'ok' },
        contents: { 'third.csv': 'Z\n7\n' },
      },
    ],
  },
  {
    id: 29,
    what: 'writing where later runs look',
    variants: [
      {
        name: 'the system, the packages, the user',
        code: `${PROBE}
import site, pathlib
folders = ['/usr', '/usr/lib', '/etc', '/opt', '/opt/python', '/opt/moli', '/opt/fonts', '/', '/mnt', '/var', '/dev', '/root', '/home', *site.getsitepackages()]
for folder in folders:
    for name in ('x', 'sitecustomize.py', 'x.pth', 'usercustomize.py'):
        attempt(f'{folder}/{name}', lambda: open(f'{folder}/{name}', 'w'))
attempt('module', lambda: open(json.__file__, 'a'))
attempt('interpreter', lambda: open(sys.executable, 'r+b'))
report()
`,
        answers: REFUSED,
      },
      {
        name: 'what Python reads at its start',
        code: `import os, builtins, json, pandas, sys
os.environ['PYTHONSTARTUP'] = '/workspace/start.py'
for name in ('start.py', 'sitecustomize.py', 'usercustomize.py', 'pandas.py', 'json.py'): open(name, 'w').write('print("poison")')
os.makedirs('.config/matplotlib', exist_ok=True)
open('.config/matplotlib/matplotlibrc', 'w').write('backend: poison')
builtins.left = json.left = pandas.left = 1
json.dumps = None
sys.path.insert(0, '/workspace')
`,
        artifacts: ['json.py', 'pandas.py', 'sitecustomize.py', 'start.py', 'usercustomize.py'],
        next: {
          code: `import builtins, json, os, pandas, sys
print(json.dumps([hasattr(x, 'left') for x in (builtins, json, pandas)]), os.environ.get('PYTHONSTARTUP'), os.listdir('.'), pandas.DataFrame({'a': [1]}).shape)`,
          stdout: '[false, false, false] None [] (1, 1)\n',
        },
      },
      {
        name: 'compiled modules',
        code: `${PROBE}
import json as module, importlib.util
attempt('pyc', lambda: open(importlib.util.cache_from_source(module.__file__), 'wb'))
attempt('folder', lambda: os.mkdir(os.path.dirname(module.__file__) + '/__pycache__/x'))
report()
`,
        answers: REFUSED,
      },
    ],
  },
  {
    id: 31,
    what: 'leaving something behind',
    variants: [
      {
        name: 'in every folder that can be written to',
        code: `import os
kept = []
for folder in ('/workspace', '/mnt/data', '/tmp', '/dev/shm', '/var/tmp', '/run/lock', '/run', '/var/lock', os.path.expanduser('~')):
    try:
        open(f'{folder}/left.tmp', 'w').write('left')
        os.chmod(f'{folder}/left.tmp', 0o777)
        kept.append(folder)
    except OSError: pass
print(len(kept) > 0)
`,
        stdout: 'True\n',
        artifacts: ['left.tmp'],
        next: {
          code: `import os
print([folder for folder in ('/workspace', '/mnt/data', '/tmp', '/dev/shm', '/var/tmp', '/run/lock', '/run', '/var/lock') if os.path.exists(f'{folder}/left.tmp')])`,
          stdout: '[]\n',
        },
      },
      {
        name: 'under names that hide',
        code: "import os\nos.makedirs('/tmp/.a/.b'); open('/tmp/.a/.b/.c', 'w').write('x')\nopen('/dev/shm/sem.x', 'w').write('x')\nopen('.hidden', 'w').write('x')",
        artifacts: ['.hidden'],
      },
    ],
  },
];
