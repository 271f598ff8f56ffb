import { DEFAULT_LIMITS } from '@moli/queue';

const MEMORY_MIB = DEFAULT_LIMITS.memoryBytes / 1024 / 1024;

/** `run_python` as models and programs see it. */
export const RUN_PYTHON = {
  name: 'run_python',
  aliases: ['execute_code', 'python', 'code_interpreter'],
  description: [
    'Run a Python 3 program in a fresh sealed sandbox and get its output. Use it for every calculation on data, for reading the files of this session, and for charts.',
    'The working folder holds the uploaded files and the files made by earlier runs of this session under their original names: open them by name, such as pd.read_csv("sales.csv"). Nothing else is kept between runs: import and load again each time.',
    'Installed: pandas, numpy, matplotlib, scipy, scikit-learn, statsmodels, seaborn, plotly, openpyxl, pyarrow, sympy, pillow, jieba and others. Nothing can be installed.',
    'What print() writes and the value of the last expression come back to you. A chart is shown to the user when you call plt.show() or plt.savefig("name.png"); Chinese labels work without font settings. Files you write into the working folder can be downloaded by the user.',
    `Limits: ${DEFAULT_LIMITS.wallSeconds} s, ${MEMORY_MIB} MiB of memory, no network, no input(), no subprocesses.`,
  ].join('\n'),
  parameters: {
    type: 'object',
    properties: {
      code: { type: 'string', minLength: 1, maxLength: 200_000, description: 'The whole Python program.' },
      files: {
        type: 'array',
        items: { type: 'string', minLength: 1, maxLength: 255 },
        maxItems: 100,
        description: 'Names of the session files to put into the working folder. Leave it out to have all of them.',
      },
    },
    required: ['code'],
    additionalProperties: false,
  },
  codeArgument: 'code',
} as const;
