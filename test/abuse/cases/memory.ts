import { type AbuseCase, MIB, PROBE } from '../expectation.ts';

const LIMITS = { wallSeconds: 15, memoryBytes: 160 * MIB } as const;
/** Touches every page of `memory`. */
const TOUCH = 'for at in range(0, len(memory), 4096): memory[at] = 1\n';

/** Cases 13 to 15. */
export const MEMORY_CASES: readonly AbuseCase[] = [
  {
    id: 13,
    what: 'memory until there is none',
    variants: [
      {
        name: 'a list that grows',
        code: 'x = []\nwhile True: x.append(bytearray(8 << 20))',
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'MemoryError swallowed',
        code: 'x = []\nwhile True:\n    try: x.append(bytearray(8 << 20))\n    except MemoryError: pass',
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'small objects',
        code: 'x = {}\nwhile True: x[len(x)] = str(len(x))',
        verdict: 'memory_limit',
        limits: { ...LIMITS, memoryBytes: 64 * MIB },
      },
      { name: 'a string that doubles', code: "x = 'x'\nwhile True: x += x", verdict: 'memory_limit', limits: LIMITS },
      {
        name: 'in threads',
        code: `import threading
x = []
def eat():
    while True: x.append(bytearray(4 << 20))
for _ in range(8): threading.Thread(target=eat).start()
eat()
`,
        verdict: 'memory_limit',
        limits: LIMITS,
      },
    ],
  },
  {
    id: 14,
    what: 'memory by other doors',
    variants: [
      {
        name: 'a terabyte reserved, then touched',
        code: `import mmap\nmemory = mmap.mmap(-1, 1 << 40, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n${TOUCH}`,
        verdict: ['memory_limit', 'user_error'],
        limits: LIMITS,
      },
      {
        name: 'reserved within the address space, then touched',
        code: `import mmap\nmemory = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)\n${TOUCH}`,
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'shared anonymous memory',
        code: `import mmap\nmemory = mmap.mmap(-1, 1 << 30)\n${TOUCH}`,
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      { name: 'memfd', code: "import os\nos.memfd_create('x')", verdict: 'user_error', error: 'PermissionError' },
      {
        name: 'shared memory of multiprocessing',
        code: `from multiprocessing import shared_memory\nmemory = shared_memory.SharedMemory(create=True, size=1 << 30).buf\n${TOUCH}`,
        verdict: ['memory_limit', 'disk_limit', 'user_error', 'signalled'],
        limits: { ...LIMITS, diskBytes: 400 * MIB },
      },
      {
        name: 'the folders in memory, together',
        code: `for folder in ('/tmp', '/dev/shm', '/workspace'):
    with open(folder + '/x', 'wb') as file:
        for _ in range(90): file.write(bytes(1 << 20))
`,
        verdict: 'memory_limit',
        limits: { ...LIMITS, diskBytes: 100 * MIB },
      },
      {
        name: 'pipes',
        code: `${PROBE}
import fcntl
pairs = []
def fill():
    while True:
        read, write = os.pipe()
        pairs.append((read, write))
        fcntl.fcntl(write, 1031, 1 << 20)
        os.set_blocking(write, False)
        try:
            while True: os.write(write, bytes(1 << 16))
        except BlockingIOError: pass
attempt('pipes', fill)
report()
`,
        verdict: ['ok', 'memory_limit'],
        limits: LIMITS,
      },
    ],
  },
  {
    id: 15,
    what: 'memory by a library',
    variants: [
      {
        name: 'numpy at once',
        code: 'import numpy as np\nnp.ones((100_000, 100_000))',
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'numpy, step by step',
        code: 'import numpy as np\nx = np.ones(1000)\nwhile True: x = np.concatenate([x, x])',
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'pandas cross join',
        code: "import pandas as pd\nd = pd.DataFrame({'a': range(100_000)})\nd.merge(d, how='cross')",
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'pandas explode',
        code: "import pandas as pd\npd.DataFrame({'a': [range(100)] * 2_000_000}).explode('a')",
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'gzip that swells',
        code: 'import gzip\ngzip.decompress(gzip.compress(bytes(8 << 20)) * 256)',
        verdict: 'memory_limit',
        limits: LIMITS,
      },
      {
        name: 'a number without end',
        code: 'x = 7 ** (7 ** 9)\nwhile True: x = x << len(bin(x))',
        verdict: ['memory_limit', 'timeout_wall', 'timeout_cpu'],
        limits: { ...LIMITS, wallSeconds: 2 },
      },
    ],
  },
];
