import { type AbuseCase, MIB } from '../expectation.ts';

const SHORT = { wallSeconds: 1 } as const;

/** Cases 20, 38, 39, 66: names, values, pictures and source text that are meant to break what looks at them. */
export const PROGRAM_CASES: readonly AbuseCase[] = [
  {
    id: 20,
    what: 'names and trees',
    variants: [
      {
        name: 'names that hide or lead elsewhere',
        code: `for name in ('line\\nfeed', 'rtl\\u202etxt', '--help', '100%'): open(name, 'w').write('x')
open(b'bad\\xff\\xfe', 'w').write('x')
`,
        artifacts: ['--help', '100%'],
        skipped: { 'line\\nfeed': 'control', 'rtl\\u202etxt': 'direction', 'bad\\udcff\\udcfe': 'UTF-8' },
      },
      {
        name: 'a folder in a folder, three thousand times',
        code: "import os\nfor _ in range(3_000):\n    os.mkdir('d')\n    os.chdir('d')\nopen('x', 'w').write('x')",
        skipped: { 'd/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d': 'deeper' },
      },
      {
        name: 'more files than anybody reads',
        code: "for n in range(15_000): open(f'f{n}', 'w').close()",
        // A hundred are taken, fifty named, the rest counted.
        contents: {},
        skipped: { '…': '14850 more' },
      },
      {
        name: 'folders closed to everyone, the work folder too',
        code: "import os\nopen('a.txt', 'w').write('x')\nos.mkdir('d')\nopen('d/b.txt', 'w').write('y')\nos.chmod('d', 0o400)\nos.chmod('/workspace', 0)",
        artifacts: ['a.txt', 'd/b.txt'],
      },
    ],
  },
  {
    id: 38,
    what: 'values that are hard to show',
    variants: [
      {
        name: 'a table of sixty million cells',
        code: "import numpy as np, pandas as pd\npd.DataFrame(np.zeros((300_000, 200), dtype='int8'))",
        result: { display: [{ table: { totalRows: 300_000, totalColumns: 200 } }] },
      },
      {
        name: 'cycles',
        code: "a, b = {}, []\na['a'] = a\nb.append(b)\na['b'] = b\na",
        result: { display: [{ mimeType: 'text/plain' }] },
      },
      {
        name: 'no numbers, too large ones, half characters',
        code: "import decimal, pandas as pd\npd.DataFrame({'a': [float('nan'), float('inf'), pd.NA], 'b': [decimal.Decimal('1e400'), pd.NaT, 2 ** 200], 'c': [object, {1: 2}, '\\ud83d']})",
        result: { display: [{ table: { totalRows: 3, totalColumns: 3 } }] },
      },
      {
        name: '__repr__ that never ends',
        code: 'class A:\n    def __repr__(self):\n        while True: pass\nA()',
        verdict: 'timeout_wall',
        limits: SHORT,
      },
      {
        name: '__repr__ of 200 MB',
        code: "class A:\n    def __repr__(self): return 'x' * (200 << 20)\nA()",
        result: { display: [{ mimeType: 'text/plain' }] },
        limits: { wallSeconds: 15, memoryBytes: 700 * MIB },
      },
      {
        name: '_repr_html_ of 60 MB falls back to text',
        code: "class A:\n    def _repr_html_(self): return '<b>' * (20 << 20)\nA()",
        result: { display: [{ mimeType: 'text/plain' }] },
      },
      {
        name: 'an exception whose text never ends',
        code: 'class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E()',
        verdict: 'timeout_wall',
        limits: SHORT,
      },
    ],
  },
  {
    id: 39,
    what: 'pictures that are too large',
    variants: [
      {
        name: 'a figure of five million pixels a side is shown smaller',
        code: 'import matplotlib.pyplot as plt\nplt.figure(figsize=(5_000, 5_000), dpi=1_000)\nplt.plot([1])\nplt.show()',
        artifacts: ['figure-1.png'],
        stderr: /the cap is 8,000,000 pixels/,
      },
      {
        name: 'a file of that size is refused with the cap',
        code: "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig('x.png', dpi=100_000)",
        verdict: 'user_error',
        error: 'ValueError',
        stderr: /cap of 40,000,000 pixels/,
      },
    ],
  },
  {
    id: 66,
    what: 'source text that breaks parsers',
    variants: [
      ['NUL', 'print(1)\0', 'SyntaxError'],
      ['tabs and blanks mixed', 'if 1:\n\tprint(1)\n        print(2)\n', 'TabError'],
      ['100,000 parentheses', `${'('.repeat(100_000)}${')'.repeat(100_000)}`, 'SyntaxError'],
      ['60,000 terms', `x = ${Array(60_000).fill('1').join('+')}`, 'RecursionError'],
      ['100,000 attributes', `a = 1\na${'.b'.repeat(100_000)}`, 'RecursionError'],
      [
        '150 levels of indentation',
        Array.from({ length: 150 }, (_, n) => `${' '.repeat(n)}if 1:\n`).join(''),
        'IndentationError',
      ],
      ['a number of 200,000 digits', `x = ${'9'.repeat(200_000)}`, 'SyntaxError'],
    ]
      .map(([name = '', code = '', error = '']): AbuseCase['variants'][number] => ({
        name,
        code,
        verdict: 'user_error',
        error,
      }))
      .concat([
        { name: 'a byte order mark and CRLF', code: '\ufeffprint(1)\r\nif 1:\r\n\tprint(2)\r\n', stdout: '1\n2\n' },
        { name: 'a declaration of another encoding', code: '# -*- coding: gbk -*-\nprint("中文")', stdout: '中文\n' },
        { name: '200,000 signs', code: `x = ${'-'.repeat(200_000)}1`, verdict: ['memory_limit', 'user_error'] },
        {
          name: '20,000 branches',
          code: `if 0: pass\n${'elif 0: pass\n'.repeat(20_000)}`,
          verdict: ['memory_limit', 'user_error'],
        },
      ]),
  },
];
