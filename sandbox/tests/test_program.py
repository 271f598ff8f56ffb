"""How code is read, run, shown and ended: like a cell of a notebook."""
from support import BoxCase, unittest


class Ends(BoxCase):
    def test_exits(self):
        for code, verdict, status in (
            ('import sys; print("kept"); sys.exit()', 'ok', 0),
            ('import sys; print("kept"); sys.exit(0)', 'ok', 0),
            ('print("kept"); exit()', 'ok', 0),
            ('import os; print("kept"); os._exit(0)', 'ok', 0),
            ('import sys; print("kept"); sys.exit(3)', 'user_error', 3),
            ('import os; print("kept", flush=True); os._exit(7)', 'user_error', 7),
            ('print("kept"); raise SystemExit("reason")', 'user_error', 1),
            ('import os; print("kept"); os.close(1); os.close(2)', 'ok', 0),
            ('import sys; print("kept"); sys.stdout.close(); sys.stderr.close()', 'ok', 0),
            ('import threading; print("kept"); threading.Thread(target=lambda: 1 / 0).start()', 'ok', 0),
        ):
            with self.subTest(code):
                result = self.run_code(code)
                self.assertEqual((result.verdict, result.end['exitCode']), (verdict, status), result.end)
                self.assertEqual(result.text, 'kept\n')
                if verdict == 'user_error':
                    self.assertTrue(result.error['explanation']['zh'])

    def test_exit_hooks_run(self):
        result = self.run_code('import atexit\natexit.register(print, "bye")\nprint("hello")')
        self.assertEqual(result.text, 'hello\nbye\n')

    def test_exit_message_goes_to_stderr(self):
        self.assertEqual(self.run_code('import sys; sys.exit("reason")').stderr, b'reason\n')

    def test_signals(self):
        for code, name in (
            ('import ctypes; print("kept"); ctypes.string_at(0)', 'SIGSEGV'),
            # The first process of a pid namespace can't abort itself; the C library then crashes on purpose.
            ('import os; print("kept"); os.abort()', 'SIGSEGV'),
            ('import faulthandler; print("kept"); faulthandler._sigfpe()', 'SIGFPE'),
        ):
            with self.subTest(code):
                result = self.run_code(code)
                self.assertEqual((result.verdict, result.end['signal'], result.text), ('signalled', name, 'kept\n'))

    def test_deep_recursion_with_a_raised_limit(self):
        result = self.run_code('import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)\nf(0)', limits={'wallSeconds': 20})
        self.assertIn(result.verdict, ('memory_limit', 'signalled', 'user_error'))
        self.assertEqual(self.run_code('print(1)').text, '1\n')

    def test_reading_stdin_ends_at_once(self):
        self.assertEqual(self.run_code('import sys; print(repr(sys.stdin.read()))').text, "''\n")
        for code in ('input()', 'import getpass; getpass.getpass()', 'import pdb; pdb.set_trace()', 'breakpoint()'):
            with self.subTest(code):
                result = self.run_code(code)
                self.assertLess(result.end['usage']['wallMs'], 5000)
                self.assertIn(result.verdict, ('ok', 'user_error'))


class Source(BoxCase):
    def test_code_that_only_looks_odd(self):
        for code, text in (
            ('\ufeffprint(1)', '1\n'),
            ('print(1)\r\nprint(2)\r\n', '1\n2\n'),
            ('# -*- coding: gbk -*-\nprint("中文")', '中文\n'),
            ('from __future__ import annotations\nx: undefined = 1\nprint(x)', '1\n'),
            ('', ''),
            ('# only a comment', ''),
            ('if __name__ == "__main__":\n\tprint(1)', '1\n'),
            ('```python\nprint("""\n```\nx\n```\n""".strip())\n```', '```\nx\n```\n'),
            ('!pip install pandas', 'pandas: 已安装 (already installed)\n'),
            ('%pip install -q torch==2.0', 'torch: 未安装，运行环境没有网络，不能安装 (not installed; a run has no network)\n'),
            ('open("a.txt", "w").write("x\\ny\\n")\n!ls\n!cat a.txt', 'a.txt\nx\ny\n'),
            ('names = !ls\nprint(names)', '[]\n'),
            ('%%time\nprint(3)', '3\n'),
            ('%time print(4)', '4\n'),
            ('s = """\n%matplotlib inline\n!ls\n"""\n%matplotlib inline\nprint(len(s))', '24\n'),
            ('import asyncio\nasync def f(): return 5\nprint(asyncio.run(f()))', '5\n'),
            ('import asyncio\nx = await asyncio.gather(*[asyncio.sleep(0, i) for i in range(3)])\nprint(x)', '[0, 1, 2]\n'),
            ('async with __import__("contextlib").AsyncExitStack() as s: print(6)', '6\n'),
        ):
            with self.subTest(code):
                result = self.run_code(code)
                self.assertEqual((result.verdict, result.text), ('ok', text), result.end)

    def test_code_that_cannot_be_read(self):
        for code, name in (
            ('print(1', 'SyntaxError'),
            ('x = 1\n  y = 2', 'IndentationError'),
            ('if True:\n\tx = 1\n        y = 2', 'TabError'),
            ('print(1)\0print(2)', 'SyntaxError'),
            ('(' * 100_000 + ')' * 100_000, None),
            ('-' * 200_000 + '1', None),
            ('x = ' + '+'.join(['1'] * 100_000), None),
            ('print（1）', 'SyntaxError'),
            ('print "a"', 'SyntaxError'),
            ('return 5', 'SyntaxError'),
            ('%%bash\necho 1', None),
            ('!rm -rf / | sh', 'ShellNotAvailable'),
        ):
            with self.subTest(code[:30]):
                result = self.run_code(code, limits={'wallSeconds': 20})
                self.assertIn(result.verdict, ('user_error', 'signalled', 'memory_limit') if name is None else ('user_error',), result.end)
                if name:
                    self.assertEqual(result.error['name'], name)
                self.assertTrue(result.error['explanation']['zh'] and result.error['explanation']['en'])

    def test_lines_of_errors(self):
        for code, line in (
            ('x = 1\n\n1/0', 3), ('```python\nx = 1\n1/0\n```', 3), ('    x = 1\n    1/0', 2), ('%matplotlib inline\n!ls\n1/0', 3),
            ('def f():\n  return 1/0\ndef g():\n  return f()\ng()', 2), ('import pandas as pd\n\npd.DataFrame({"a": [1]})["b"]', 3), ('x = (\n1,\n2', 1),
            ('await __import__("asyncio").sleep(0)\n1/0', 2),
        ):
            with self.subTest(code):
                self.assertEqual(self.run_code(code).error['line'], line)

    def test_traceback_shows_the_users_frames(self):
        error = self.run_code('import pandas as pd\ndef load(df):\n    return df["nope"]\nload(pd.DataFrame({"a": [1]}))').error
        self.assertIn('File "main.py", line 3, in load', error['traceback'])
        self.assertIn('return df["nope"]', error['traceback'])
        self.assertNotIn('/opt/moli', error['traceback'])
        self.assertLessEqual(error['traceback'].count('File "'), 4)
        self.assertTrue(error['traceback'].endswith("KeyError: 'nope'\n"))


class Displays(BoxCase):
    def shown(self, code, files=()):
        result = self.run_code(code, files)
        self.assert_ok(result)
        return result.displays

    def test_last_expression(self):
        for code, text in (
            ('1 + 1', '2'), ('"a"', "'a'"), ('x = 1\nx', '1'), ('[1, {"b": None}]', "[1, {'b': None}]"), ('import numpy as np\nnp.int64(5)', '5'), ('import numpy as np\nnp.float64(0.5)', '0.5'),
            ('{"z": 1, "a": 2}', "{'z': 1, 'a': 2}"), ('3.0', '3.0'), ('...', 'Ellipsis'),
        ):
            with self.subTest(code):
                self.assertEqual([(d['mimeType'], d['text']) for d in self.shown(code)], [('text/plain', text)])
        for code in ('None', 'x = 1', '1 + 1;', 'print(1)', 'import matplotlib.pyplot as plt\nplt.close()', 'def f(): return 1'):
            with self.subTest(code):
                self.assertEqual(self.shown(code), [])

    def test_objects_that_do_not_cooperate(self):
        for code, words in (
            ('class A:\n  def __repr__(self): raise ValueError\nA()', 'ValueError'),
            ('class A:\n  def _repr_html_(self): raise ValueError\n  def __repr__(self): return "plain"\nA()', 'plain'),
            ('class A:\n  def _repr_html_(self): import os; os.fork()\n  def __repr__(self): return "plain"\nA()', 'plain'),
            ('class A:\n  def __repr__(self): return "x" * 10_000_000\nA()', 'xxx'),
            ('d = {}\nd["self"] = d\nd', 'self'),
            ('list(range(10_000_000))', '[0, 1, 2'),
            ('"\\ud800"', 'ud800'),
            ('class A:\n  def __getattr__(self, name): return self\n  def __call__(self, *a): return self\n  def __repr__(self): return "magic"\nA()', 'magic'),
        ):
            with self.subTest(code):
                displays = self.shown(code)
                self.assertEqual(len(displays), 1)
                self.assertIn(words, displays[0]['text'])
                self.assertLess(len(displays[0]['text']), 25_000)

    def test_a_repr_without_end_meets_the_deadline(self):
        result = self.run_code('class A:\n  def __repr__(self):\n    while True: pass\nA()', limits={'wallSeconds': 1})
        self.assertEqual(result.verdict, 'timeout_wall')

    def table(self, code):
        displays = self.shown(f'import pandas as pd, numpy as np, datetime, decimal\n{code}')
        self.assertEqual(len(displays), 1)
        self.assertTrue(displays[0]['text'])
        return displays[0]['table']

    def test_tables(self):
        table = self.table('pd.DataFrame({"id": [2**53 + 1, 1], "n": [1.5, None], "b": [True, False], "d": pd.to_datetime(["2026-01-01", None]), "t": pd.to_datetime(["2026-01-01 12:30", None]), "s": ["甲", None]})')
        self.assertEqual([column['type'] for column in table['columns']], ['integer', 'number', 'boolean', 'date', 'datetime', 'string'])
        self.assertEqual(table['rows'], [['9007199254740993', 1.5, True, '2026-01-01', '2026-01-01 12:30:00', '甲'], [1, None, False, None, None, None]])

    def test_odd_cells(self):
        table = self.table('pd.DataFrame({"x": pd.Series([np.inf, -np.inf, np.nan, pd.NA, decimal.Decimal("1.10"), b"\\xff", [1], {"a": 1}, datetime.date(2026, 1, 2), "x" * 1000, 1e300, "\\ud800"], dtype=object)})')
        values = [row[0] for row in table['rows']]
        self.assertEqual(values[:5], ['Infinity', '-Infinity', None, None, '1.10'])
        self.assertEqual(len(values[9]), 500)

    def test_index_and_columns(self):
        table = self.table('pd.DataFrame({"区域": ["华东", "华南", "华东"], "年": [1, 1, 2], "额": [1, 2, 3]}).pivot_table(index="区域", columns="年", values="额", aggfunc=["sum", "mean"])')
        self.assertEqual([column['name'] for column in table['columns']], ['区域', 'sum / 1', 'sum / 2', 'mean / 1', 'mean / 2'])
        table = self.table('pd.Series([1, 2], index=["a", "b"], name="值")')
        self.assertEqual((table['columns'][1]['name'], table['rows']), ('值', [['a', 1], ['b', 2]]))
        table = self.table('pd.DataFrame([[1, 2]], columns=["x", "x"])')
        self.assertEqual(table['rows'], [[1, 2]])
        self.assertEqual(self.table('pd.DataFrame({"a": []})')['totalRows'], 0)

    def test_large_tables_are_bounded(self):
        table = self.table('pd.DataFrame(np.arange(3_000_000).reshape(10_000, 300))')
        self.assertEqual((table['totalRows'], table['totalColumns'], len(table['rows']), len(table['columns'])), (10_000, 300, 200, 100))
        table = self.table('pd.DataFrame({f"c{i}": ["文" * 500] * 500 for i in range(60)})')
        self.assertGreater(len(table['rows']), 1)

    def test_styled_tables_and_html_stay_apart(self):
        display = self.shown('import pandas as pd\npd.DataFrame({"a": [1]}).style.highlight_max()')[0]
        self.assertEqual(display['mimeType'], 'text/html')
        self.assertIn(b'<table', display['content'])
        self.assertNotIn('<table', display.get('text', ''))

    def test_figures_once_each(self):
        plot = 'import matplotlib.pyplot as plt\nplt.plot([1, 2])\n'
        for code, count in (
            (plot, 1), (plot + 'plt.show()', 1), (plot + 'plt.show()\nplt.show()', 1), (plot + 'plt.gcf()', 1), (plot + 'fig = plt.gcf()\nfig', 1), (plot + 'display(plt.gcf())', 1),
            (plot + 'plt.gcf().show()', 1), (plot + 'plt.close()', 0), (plot + 'plt.savefig("a.png")', 0), (plot + 'plt.savefig("a.pdf")', 1), (plot + 'import io\nplt.savefig(io.BytesIO())', 1),
            (plot + 'plt.show()\nplt.plot([3])\nplt.show()', 2), (plot + 'plt.savefig("a.png")\nplt.figure()\nplt.plot([1])', 1), (plot + 'plt.figure()', 1),
            ('import pandas as pd\npd.Series([1]).plot()', 1), ('import matplotlib.pyplot as plt\nf, (a, b) = plt.subplots(1, 2)\na.plot([1]); b.hist([1, 2])', 1),
            (plot + 'plt.ion(); plt.pause(0.01)', 1), ('from matplotlib.figure import Figure\nf = Figure(); f.add_subplot().plot([1])\nf', 1),
            ('%config InlineBackend.figure_format = "svg"\n' + plot + 'plt.show()', 1), ('import matplotlib\nmatplotlib.use("Qt5Agg")\nmatplotlib.use("module://nothing")\n' + plot, 1),
        ):
            with self.subTest(code):
                displays = self.shown(code)
                self.assertEqual([d['mimeType'] for d in displays], ['image/png'] * count)
                for display in displays:
                    self.assertGreater(display['width'] * display['height'], 10_000)

    def test_saving_right_after_showing_saves_the_chart(self):
        result = self.run_code('import matplotlib.pyplot as plt\nplt.plot([1, 5, 2])\nplt.show()\nplt.savefig("a.png")')
        self.assert_ok(result)
        self.assertGreater(result.artifact('a.png')['bytes'], 10_000)
        self.assertEqual(result.artifact('a.png')['shownAs'], 'figure-1.png')

    def test_names_of_figures_do_not_clash_with_files(self):
        result = self.run_code('open("figure-1.png", "w").write("mine")\nimport matplotlib.pyplot as plt\nplt.plot([1])')
        self.assertEqual([d['name'] for d in result.displays], ['figure-2.png'])

    def test_figures_that_are_too_large(self):
        result = self.run_code('import matplotlib.pyplot as plt\nplt.figure(figsize=(500, 500))\nplt.plot([1])\nplt.show()')
        self.assert_ok(result)
        self.assertLess(result.displays[0]['width'] * result.displays[0]['height'], 12_000_000)
        self.assertIn(b'cap', result.stderr)
        result = self.run_code('import matplotlib.pyplot as plt\nplt.plot([1])\nplt.savefig("a.png", dpi=100_000)')
        self.assertEqual(result.verdict, 'user_error')
        self.assertIn('cap of', result.error['message'])

    def test_many_open_figures(self):
        result = self.run_code('import matplotlib.pyplot as plt\nfor i in range(80):\n  plt.figure(figsize=(1, 1), dpi=30); plt.plot([i])', limits={'wallSeconds': 50, 'cpuSeconds': 50})
        self.assert_ok(result)
        self.assertEqual(sum(d['mimeType'] == 'image/png' for d in result.displays), 50)
        self.assertIn('50', [d for d in result.displays if d['mimeType'] == 'text/plain'][0]['text'])
        self.assertEqual(result.stderr, b'')

    def test_pictures(self):
        code = 'from PIL import Image\nimage = Image.new("RGB", (30, 20), "red")\n'
        display = self.shown(code + 'image')[0]
        self.assertEqual((display['mimeType'], display['width'], display['height']), ('image/png', 30, 20))
        display = self.shown(code + 'image.save("a.png")\nfrom IPython.display import Image as Show\nShow("a.png")')[0]
        self.assertEqual(display['mimeType'], 'image/png')
        self.assertEqual(self.shown('from IPython.display import Markdown, Latex, SVG\ndisplay(Markdown("**x**"), SVG("<svg/>"))')[0], {'mimeType': 'text/markdown', 'text': '**x**', 'content': b''})

    def test_minus_signs_and_every_font_a_script_may_name(self):
        for setting in ("'font.family'] = 'SimHei'", "'font.family'] = ['Arial']", "'font.sans-serif'] = ['Microsoft YaHei', 'Arial']", "'font.family'] = 'serif'", "'font.family'] = 'monospace'", "'font.family'] = 'No Such Font'"):
            with self.subTest(setting):
                result = self.run_code(
                    'import warnings, matplotlib.pyplot as plt\n'
                    f'plt.rcParams[{setting}\n'
                    'with warnings.catch_warnings(record=True) as seen:\n  warnings.simplefilter("always")\n  plt.plot([-1, 0]); plt.title("销售趋势 − ー한국"); plt.savefig("a.png")\nprint(len(seen), [str(w.message) for w in seen])')
                self.assertEqual(result.text, '0 []\n')
                self.assertEqual(result.stderr, b'')

    def test_announcements_of_libraries_are_not_shown(self):
        result = self.run_code('import pandas as pd\ndf = pd.DataFrame({"a": [1.0, None]})\ndf["a"].fillna(method="ffill")\npd.date_range("2026-01-01", periods=2, freq="M");')
        self.assert_ok(result)
        self.assertEqual(result.stderr, b'')

    def test_parallel_work_is_done_by_threads(self):
        for code, text in (
            ('from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(4) as e: print(list(e.map(abs, [-1, -2])))', '[1, 2]\n'),
            ('from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as e: print(list(e.map(abs, [-1, -2])))', '[1, 2]\n'),
            ('import multiprocessing as mp\nwith mp.get_context("spawn").Pool(2) as p: print(p.map(abs, [-1]))', '[1]\n'),
            ('from joblib import Parallel, delayed\nprint(Parallel(n_jobs=2)(delayed(abs)(i) for i in (-1, -2)))', '[1, 2]\n'),
            ('from joblib import Parallel, delayed\nprint(Parallel(n_jobs=-1, backend="loky")(delayed(abs)(i) for i in (-1, -2)))', '[1, 2]\n'),
            ('from sklearn.ensemble import RandomForestClassifier\nfrom sklearn.model_selection import GridSearchCV\nimport numpy as np\nx = np.arange(40).reshape(20, 2); y = [0, 1] * 10\n'
             'g = GridSearchCV(RandomForestClassifier(n_estimators=3, n_jobs=-1), {"max_depth": [1, 2]}, n_jobs=-1, cv=2).fit(x, y)\nprint(len(g.predict(x)))', '20\n'),
        ):
            with self.subTest(code):
                result = self.run_code(code, limits={'wallSeconds': 50, 'cpuSeconds': 50})
                self.assertEqual((result.verdict, result.text), ('ok', text), f'{result.end} {result.stderr[-800:]}')

    def test_a_program_that_replaces_what_tells_its_result(self):
        for code in ('json.dumps = None', 'json.dumps = lambda *_, **__: b"{}"', 'json.dumps = functools.partial(json.dumps, default=str, indent=2)'):
            result = self.run_code(f'import functools, json\n{code}\nprint(1)\n40 + 2')
            self.assertEqual((result.verdict, result.text, [item['text'] for item in result.displays]), ('ok', '1\n', ['42']), result.stderr)
            result = self.run_code(f'import functools, json\n{code}\nraise ValueError("real")')
            self.assertEqual((result.verdict, result.error.get('message')), ('user_error', 'real'))

    def test_threads_that_are_left_say_nothing_of_their_end(self):
        result = self.run_code('import threading, os\ndef work():\n  while True: os.getcwd()\n[threading.Thread(target=work).start() for _ in range(4)]\nprint("end")')
        self.assertEqual((result.verdict, result.text, result.stderr), ('ok', 'end\n', b''))

    def test_packages_work_behind_the_walls(self):
        for code in (
            'import pandas as pd\nd = pd.DataFrame({"a": [1, 2], "甲": ["x", "y"]})\nfor k in ("xlsx", "csv", "parquet", "feather", "json", "html"):\n  p = "t." + k\n  {"xlsx": d.to_excel, "csv": d.to_csv, "parquet": d.to_parquet, "feather": d.to_feather, "json": d.to_json, "html": d.to_html}[k](p)\n'
            'assert pd.read_excel("t.xlsx").shape == (2, 3) and pd.read_parquet("t.parquet").equals(d) and pd.read_html("t.html")[0].shape == (2, 3)',
            'import sqlite3\nc = sqlite3.connect("x.db"); c.execute("create table t(a)"); c.execute("insert into t values (1)"); c.commit(); assert c.execute("select * from t").fetchall() == [(1,)]',
            'import scipy.fft, scipy.optimize, numpy as np\nscipy.fft.fft(np.ones(1000), workers=2); np.linalg.svd(np.ones((50, 50))); scipy.optimize.minimize(lambda x: (x[0] - 1) ** 2, [0.0]);',
            'import jieba\nassert "销售额" in jieba.lcut("第三季度销售额")',
            'import docx, pptx, io\nd = docx.Document(); d.add_paragraph("中"); d.save("a.docx"); p = pptx.Presentation(); p.save("a.pptx")',
            'import sympy\nassert str(sympy.solve(sympy.Symbol("x") ** 2 - 4)) == "[-2, 2]"',
            'import statsmodels.api as sm, numpy as np\nsm.OLS(np.arange(10.0), sm.add_constant(np.arange(10.0))).fit().summary();',
            'import matplotlib.pyplot as plt\nplt.plot([1]); plt.title("中文"); plt.savefig("a.pdf"); plt.savefig("a.svg"); plt.savefig("a.jpg"); plt.savefig("a.webp")',
            'import zipfile, tarfile, tempfile, uuid, logging, threading, queue, asyncio, mmap\nwith tempfile.TemporaryDirectory() as t: open(t + "/x", "w").write("x")',
        ):
            with self.subTest(code[:40]):
                result = self.run_code(code, limits={'wallSeconds': 50, 'cpuSeconds': 50})
                self.assert_ok(result)


if __name__ == '__main__':
    unittest.main()
