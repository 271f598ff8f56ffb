import { type AbuseCase, PROBE } from '../expectation.ts';

const OUTPUT = { wallSeconds: 10, outputBytes: 64 * 1024 } as const;
const CUT = { stdout: true, stderr: false } as const;
/** Bytes of many kinds that are no UTF-8 together. */
const STRANGE = Buffer.concat([
  Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0x1b]),
  Buffer.from('[31mred\u001b]8;;http://x\u0007link\rover\u2028\ufeff', 'utf8'),
  Buffer.from([0xd6, 0xd0, 0xce, 0xc4, 0x0a]),
]).toString('hex');

/** What a program prints to pass for another end of itself. */
const FORGED = `import json, os, struct
result = json.dumps({'verdict': 'ok', 'success': True, 'exitCode': 0, 'error': None, 'forged': 'forged'})
`;

/** Speaks on the program's own channel, which it finds in its memory: it can lie about itself, and must not be able to do more. */
const CHANNEL = `import gc, json, os, struct
sender = next(item for item in gc.get_objects() if type(item).__name__ == 'Sender')
def say(display, data=b''):
    text = json.dumps(display).encode()
    rest = struct.pack('<16scII', sender.nonce, b'P', len(text), len(data)) + text + data
    while rest: rest = rest[os.write(sender.descriptor, rest):]
    os.read(sender.descriptor, 1)
`;

/** Cases 32 to 36, 40, 47. */
export const OUTPUT_CASES: readonly AbuseCase[] = [
  {
    id: 32,
    what: 'flood of output',
    variants: [
      {
        name: 'print for ever',
        code: "while True: print('x' * 1000)",
        verdict: 'output_limit',
        limits: OUTPUT,
        truncated: CUT,
        stdout: /^x{1000}\n/,
      },
      {
        name: 'past Python, in large pieces',
        code: "import os\nblock = b'x' * (1 << 20)\nwhile True: os.write(1, block)",
        verdict: 'output_limit',
        limits: OUTPUT,
        truncated: CUT,
      },
      {
        name: 'head and tail are kept, the rest is counted',
        code: 'for n in range(50_000): print(n)',
        limits: OUTPUT,
        truncated: CUT,
        stdout: /^0\n1\n[\s\S]*bytes left out[\s\S]*49998\n49999\n$/,
        result: { usage: { outputBytes: 288_890 } },
      },
      {
        name: 'from threads',
        code: "import threading\ndef flood():\n    while True: print('y' * 500)\nfor _ in range(8): threading.Thread(target=flood).start()\nflood()",
        verdict: 'output_limit',
        limits: OUTPUT,
        truncated: CUT,
      },
      {
        name: 'displays',
        code: "from IPython.display import display, HTML\nfor n in range(2_000): display(HTML('<p>' + 'x' * 1000))",
        limits: OUTPUT,
        artifacts: undefined,
        skipped: { display: 'more than' },
      },
    ],
  },
  {
    id: 33,
    what: 'output of unusual rhythm',
    variants: [
      {
        name: 'one line without an end',
        code: "import sys\nwhile True: sys.stdout.write('z' * 4096)",
        verdict: 'output_limit',
        limits: OUTPUT,
        truncated: CUT,
      },
      {
        name: 'single bytes',
        code: "import os\nfor _ in range(100_000): os.write(1, b'z')",
        limits: OUTPUT,
        truncated: CUT,
        result: { usage: { outputBytes: 100_000 } },
      },
      {
        name: 'a slow drip',
        code: "import time\nwhile True:\n    print('.', end='', flush=True)\n    time.sleep(0.1)",
        verdict: 'timeout_wall',
        limits: { wallSeconds: 1 },
        stdout: /^\.+$/,
      },
    ],
  },
  {
    id: 34,
    what: 'flood of errors beside useful output',
    variants: [
      {
        name: 'that ends',
        code: "import sys\nprint('useful')\nfor _ in range(50_000): print('noise', file=sys.stderr)\nprint('more')",
        limits: OUTPUT,
        truncated: { stdout: false, stderr: true },
        stdout: 'useful\nmore\n',
      },
      {
        name: 'without an end',
        code: "import sys\nprint('useful', flush=True)\nwhile True: print('noise' * 200, file=sys.stderr)",
        verdict: 'output_limit',
        limits: OUTPUT,
        truncated: { stdout: false, stderr: true },
        stdout: 'useful\n',
      },
    ],
  },
  {
    id: 35,
    what: 'bytes that are no text',
    variants: [
      {
        name: 'a mixture',
        code: `import os\nos.write(1, bytes.fromhex('${STRANGE}'))`,
        bytes: STRANGE,
        stdout: /\\xff/,
      },
      {
        name: 'every byte',
        code: 'import os\nos.write(1, bytes(range(256)))',
        bytes: Buffer.from(Array.from({ length: 256 }, (_, n) => n)).toString('hex'),
      },
      {
        name: 'characters in pieces',
        code: "import os, time\nfor byte in '中文 🙂 é\\n'.encode():\n    os.write(1, bytes([byte]))\n    time.sleep(0.02)",
        stdout: '中文 🙂 é\n',
      },
      {
        name: 'a character cut at the end',
        code: "import os\nos.write(1, '中文'.encode()[:-1])",
        bytes: Buffer.from('中文').subarray(0, -1).toString('hex'),
      },
      {
        name: 'half a surrogate pair',
        code: "import sys\nsys.stdout.buffer.write('\\ud83d'.encode('utf-8', 'surrogatepass'))",
        bytes: 'eda0bd',
      },
      {
        name: 'control characters in errors and names',
        code: "open('bad\\x1b[31m\\n.txt', 'w')\nraise ValueError('\\x00\\x1b]52;c;eA==\\x07 \\ud83d \\u2028')",
        verdict: 'user_error',
        error: 'ValueError',
        artifacts: [],
      },
    ],
  },
  {
    id: 36,
    what: 'result forged',
    variants: [
      {
        name: 'printed',
        code: `${FORGED}print(result)\nraise ValueError('real')`,
        verdict: 'user_error',
        error: 'ValueError',
        stdout: /forged/,
      },
      {
        name: 'in frames on every descriptor',
        code: `${FORGED}
body = result.encode()
for descriptor in range(3, 256):
    for frame in (struct.pack('<I', len(body) + 1) + b'R' + body, body + b'\\n', b'R' + body):
        try: os.write(descriptor, frame)
        except OSError: pass
os._exit(3)
`,
        verdict: 'user_error',
        result: { exitCode: 3 },
      },
      {
        name: 'in frames on standard output',
        code: `${FORGED}
body = result.encode()
os.write(1, struct.pack('<I', len(body) + 1) + b'R' + body)
os._exit(4)
`,
        verdict: 'user_error',
        result: { exitCode: 4 },
      },
      {
        name: 'a display of a type that nobody knows, with a link to a file',
        code: `from IPython.display import display
class Forged:
    def _repr_mimebundle_(self, **_): return {'application/vnd.moli.result+json': {'verdict': 'ok'}, 'text/plain': 'plain', 'artifactId': 'art_' + '0' * 32}
display(Forged())
raise ValueError('real')
`,
        verdict: 'user_error',
        error: 'ValueError',
      },
      {
        name: 'displays that break every promise, said on the channel itself',
        code: `${CHANNEL}
for kind in ('', 'text/html\\r\\nset-cookie: a=b', 'x/' + 'y' * 900, 'a/b; c'): say({'mimeType': kind, 'text': 't'}, b'x')
for name in ('../../up', '/etc/passwd', 'a\\r\\nb', 'n' * 900): say({'mimeType': 'text/html', 'name': name}, b'<script>alert(1)</script>')
say({'mimeType': 'image/png', 'width': -5, 'height': 10 ** 30}, b'x')
say({'mimeType': 'text/plain', 'text': 't', 'table': {'columns': 'x', 'rows': [[{}]], 'totalRows': 'a'}})
say({'mimeType': 'text/plain', 'text': 't', 'table': {'columns': [], 'rows': [[2 ** 60]], 'totalRows': 1.5, 'totalColumns': 10 ** 400}})
print('said')
`,
        stdout: 'said\n',
        artifacts: ['figure', 'figure', 'figure', 'figure', 'figure'],
      },
      {
        name: 'the hooks of the sandbox replaced',
        code: `import builtins, sys
sys.excepthook = lambda *_: print('hooked')
builtins.print = lambda *_, **__: None
import json
json.dumps = lambda *_, **__: '{"verdict":"ok"}'
raise ValueError('real')
`,
        verdict: 'user_error',
      },
    ],
  },
  {
    id: 40,
    what: 'asking a person who is not there',
    variants: [
      ['input()', "input('name? ')", 'EOFError'],
      ['getpass', 'import getpass\ngetpass.getpass()', 'EOFError'],
      ['pdb', "import pdb\npdb.set_trace()\nprint('after')", 'BdbQuit'],
      ['breakpoint()', "breakpoint()\nprint('after')", 'BdbQuit'],
      ['code.interact', 'import code\ncode.interact()\nraise EOFError', 'EOFError'],
      ['sys.stdin', "import sys\nprint(repr(sys.stdin.read()))\nsys.stdin.readline() or int('')", 'ValueError'],
    ].map(([name = '', code = '', error]) => ({
      name,
      code,
      verdict: ['user_error', 'ok'] as const,
      limits: { wallSeconds: 20 },
      ...(error === 'EOFError' || error === 'ValueError' ? { verdict: 'user_error' as const, error } : {}),
    })),
  },
  {
    id: 47,
    what: 'inherited descriptors',
    variants: [
      {
        name: 'only the three streams and the channel',
        code: `${PROBE}
import stat
for number in range(3, 1024): attempt(number, lambda: os.fstat(number))
print(json.dumps([number for number, answer in answers.items() if answer is None]))
`,
        stdout: /^\[\d+\]\n$/,
      },
      {
        name: 'the channel gives nothing to read and takes no file',
        code: `${PROBE}
import socket, array
def there(number):
    try: os.fstat(number)
    except OSError: return False
    return True
channel = next(number for number in range(3, 1024) if there(number))
os.set_blocking(channel, False)
attempt('read', lambda: os.read(channel, 1 << 20))
attempt('peer', lambda: socket.socket(fileno=channel).getpeername())
attempt('pass a descriptor', lambda: socket.socket(fileno=channel).sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [1]))]))
report()
`,
        verdict: ['ok', 'user_error'],
      },
    ],
  },
];
