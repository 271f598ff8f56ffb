"""Explanations of errors: each names what is specific to the case, in zh and in en, at the right line."""
from support import BoxCase, unittest

FRAME = 'import pandas as pd, numpy as np\ndf = pd.DataFrame({"销售额": ["1", "2,000"], "日期": ["2026-01-01", "01/02/2026"], "Region": ["a", None], "n": [1, 2]})\n'
GBK = '地区,金额\n华东,10\n'.encode('gbk')

# kind, code, files, name of the error, words of the zh text, words of the en text
CASES = (
    ('column', FRAME + 'df["销售"]', {}, 'KeyError', ['没有列', '销售额', '日期', 'Region'], ['no column', '销售额']),
    ('column by another case', FRAME + 'df.groupby("region").n.sum()', {}, 'KeyError', ["'Region'"], ["Did you mean 'Region'"]),
    ('several columns', FRAME + 'df[["n", "额"]]', {}, 'KeyError', ['额', '销售额'], ['销售额']),
    ('dropped column', FRAME + 'df.drop(columns=["nn"])', {}, 'KeyError', ['nn', 'Region'], ['Region']),
    ('usecols', 'import pandas as pd\npd.read_csv("a.csv", usecols=["x"])', {'a.csv': b'a,b\n1,2\n'}, 'ValueError', ['x'], ['x']),
    ('key of a dict', 'd = {"name": 1, "price": 2}\nd["prise"]', {}, 'KeyError', ['price', 'name'], ["Did you mean price"]),
    ('file', 'open("sales.csv")', {'sale.csv': b'', '数据.xlsx': b''}, 'FileNotFoundError', ['sale.csv', '数据.xlsx'], ['Did you mean sale.csv']),
    ('file, none there', 'import pandas as pd\npd.read_csv("/mnt/data/x.csv")', {}, 'FileNotFoundError', ['没有任何文件'], ['no files']),
    ('encoding', 'import pandas as pd\npd.read_csv("a.csv")', {'a.csv': GBK}, 'UnicodeDecodeError', ["encoding='gb18030'"], ["encoding='gb18030'"]),
    ('encoding of utf-16', 'open("a.csv", encoding="utf-8").read()', {'a.csv': '地区'.encode('utf-16')}, 'UnicodeDecodeError', ['utf-16'], ['utf-16']),
    ('encoding when writing', 'open("a", "w", encoding="ascii").write("中")', {}, 'UnicodeEncodeError', ['utf-8-sig'], ['utf-8-sig']),
    ('unknown encoding', 'open("a", "w", encoding="utf99")', {}, 'LookupError', ['utf99'], ['utf99']),
    ('date format', FRAME + 'pd.to_datetime(df["日期"], format="%Y-%m-%d")', {}, 'ValueError', ['01/02/2026', "format='mixed'"], ["format='mixed'"]),
    ('date text', 'import datetime\ndatetime.datetime.strptime("2026年1月", "%Y-%m")', {}, 'ValueError', ['2026年1月'], ['%Y-%m']),
    ('no date', 'import pandas as pd\npd.to_datetime(["abc"])', {}, 'DateParseError', ['errors='], ['errors=']),
    ('dt accessor', FRAME + 'df["日期"].dt.month', {}, 'AttributeError', ['pd.to_datetime'], ['pd.to_datetime']),
    ('str accessor', FRAME + 'df["n"].str.strip()', {}, 'AttributeError', ['astype(str)'], ['astype(str)']),
    ('frequency', 'import pandas as pd\npd.date_range("2026", periods=2, freq="XX")', {}, 'ValueError', ['XX', 'ME'], ['XX']),
    ('module', 'import torch', {}, 'ModuleNotFoundError', ['torch', 'pandas', 'sklearn'], ['Use sklearn']),
    ('module for the network', 'import requests', {}, 'ModuleNotFoundError', ['没有网络'], ['no network']),
    ('name in a module', 'from pandas import DataFrme', {}, 'ImportError', ['DataFrame'], ['DataFrame']),
    ('df.append', FRAME + 'df.append({"n": 1}, ignore_index=True)', {}, 'AttributeError', ['pd.concat'], ['pd.concat']),
    ('iteritems', FRAME + 'df.iteritems()', {}, 'AttributeError', ['.items()'], ['.items()']),
    ('np.float', 'import numpy as np\nnp.float(1)', {}, 'AttributeError', ['float'], ['Write instead: float']),
    ('np.NaN', 'import numpy as np\nnp.NaN', {}, 'AttributeError', ['np.nan'], ['np.nan']),
    ('seaborn style', 'import matplotlib.pyplot as plt\nplt.style.use("seaborn-whitegrid")', {}, 'OSError', ['seaborn-v0_8-whitegrid'], ['seaborn-v0_8-whitegrid']),
    ('get_cmap', 'import matplotlib.cm as cm\ncm.get_cmap("viridis")', {}, 'AttributeError', ['colormaps'], ['colormaps']),
    ('old keyword', 'import pandas as pd\npd.read_csv("a.csv", error_bad_lines=False)', {'a.csv': b'a\n1'}, 'TypeError', ["on_bad_lines='skip'"], ["on_bad_lines='skip'"]),
    ('network by urllib', 'import urllib.request\nurllib.request.urlopen("http://10.0.0.1/")', {}, 'URLError', ['没有网络', '上传'], ['no network', 'upload']),
    ('network by socket', 'import socket\nsocket.create_connection(("1.1.1.1", 80))', {}, 'PermissionError', ['没有网络'], ['no network']),
    ('subprocess', 'import subprocess\nsubprocess.run(["ls"])', {}, 'PermissionError', ['线程', 'ThreadPoolExecutor'], ['threads']),
    ('os.system', 'import os\nif os.system("ls") != 0: os.fork()', {}, 'PermissionError', ['线程'], ['threads']),
    ('multiprocessing', 'import multiprocessing as m\np = m.Process(target=print)\np.start()', {}, 'PermissionError', ['ThreadPoolExecutor'], ['ThreadPoolExecutor']),
    ('permission', 'open("/usr/x", "w")', {}, 'OSError', ['/workspace'], ['/workspace']),
    ('division', 'x = 0\n1 / x', {}, 'ZeroDivisionError', ['第 2 行', '除数是 0'], ['Line 2', 'division by zero']),
    ('index', '[1, 2][5]', {}, 'IndexError', ['下标'], ['index']),
    ('empty data', FRAME + 'df[df.n > 5].iloc[0]', {}, 'IndexError', ['没有数据'], ['no data']),
    ('name', 'total = 1\nprint(totl)', {}, 'NameError', ['total'], ['total']),
    ('name not imported', 'pd.DataFrame()', {}, 'NameError', ['import pandas as pd'], ['import pandas as pd']),
    ('local variable', 'x = 1\ndef f():\n  print(x)\n  x = 2\nf()', {}, 'UnboundLocalError', ['x'], ['before it has a value']),
    ('attribute', '"a".uper()', {}, 'AttributeError', ['upper'], ['upper']),
    ('attribute that is a column', FRAME + 'df.region', {}, 'AttributeError', ['Region'], ['Region']),
    ('attribute of None', FRAME + 'df = df.drop(columns=["n"], inplace=True)\ndf.head()', {}, 'AttributeError', ['None', 'inplace'], ['None', 'inplace']),
    ('types', '1 + "a"', {}, 'TypeError', ['int', 'str'], ['int', 'str']),
    ('text and number', '"a" + 1', {}, 'TypeError', ['str(x)'], ['str(x)']),
    ('not callable', 'list = [1]\nlist((1, 2))', {}, 'TypeError', ['同名'], ['not callable']),
    ('arguments', 'def f(a, b): pass\nf(1)', {}, 'TypeError', ['f()'], ['f()']),
    ('comparison', 'sorted([1, "a"])', {}, 'TypeError', ['比较'], ['compared']),
    ('not a number', FRAME + 'df["销售额"].astype(float)', {}, 'ValueError', ['2,000', 'to_numeric'], ['2,000', 'to_numeric']),
    ('mean of text', FRAME + 'df.mean()', {}, 'TypeError', ['numeric_only=True'], ['numeric_only=True']),
    ('int of text', 'int("12a")', {}, 'ValueError', ['12a'], ['12a']),
    ('missing to int', FRAME + 'pd.Series([1.0, None]).astype(int)', {}, 'IntCastingNaNError', ['空'], ['']),
    ('lengths', FRAME + 'df["x"] = [1, 2, 3]', {}, 'ValueError', ['长度'], ['lengths']),
    ('shapes', 'import numpy as np\nnp.ones(3) + np.ones(4)', {}, 'ValueError', ['形状'], ['shapes']),
    ('truth value', FRAME + 'if df.n > 1: pass', {}, 'ValueError', ['&', '.any()'], ['&', '.any()']),
    ('merge keys', FRAME + 'df.merge(pd.DataFrame({"k": [1]}), on="k")', {}, 'KeyError', ["'k'"], ["'k'"]),
    ('merge without common', FRAME + 'df.merge(pd.DataFrame({"k": [1]}))', {}, 'MergeError', ['合并', '销售额'], ['merged']),
    ('merge types', FRAME + 'df.merge(pd.DataFrame({"n": ["1"]}), on="n")', {}, 'ValueError', ['astype(str)'], ['astype(str)']),
    ('json', 'import json\njson.loads("{\'a\': 1}")', {}, 'JSONDecodeError', ['双引号'], ['double quotes']),
    ('json lines', 'import json\njson.loads("{}\\n{}")', {}, 'JSONDecodeError', ['lines=True'], ['lines=True']),
    ('not JSON', 'import json\njson.dumps({1, 2})', {}, 'TypeError', ['JSON'], ['JSON']),
    ('ragged csv', 'import pandas as pd\npd.read_csv("a.csv")', {'a.csv': b'a,b\n1,2\n1,2,3,4\n'}, 'ParserError', ['on_bad_lines'], ['on_bad_lines']),
    ('empty csv', 'import pandas as pd\npd.read_csv("a.csv")', {'a.csv': b''}, 'EmptyDataError', ['空'], ['empty']),
    ('not an xlsx', 'import pandas as pd\npd.read_excel("a.xlsx")', {'a.xlsx': b'a,b\n1,2'}, None, ['CSV'], ['CSV']),
    ('sheet', 'import pandas as pd\npd.DataFrame({"a": [1]}).to_excel("a.xlsx", sheet_name="明细")\npd.read_excel("a.xlsx", sheet_name="汇总")', {}, 'ValueError', ['汇总'], ['汇总']),
    ('syntax', 'x = (1,\nprint(2)', {}, 'SyntaxError', ['括号'], ['bracket']),
    ('full-width comma', 'print(1，2)', {}, 'SyntaxError', ['，', '英文'], ['write , instead']),
    ('quotes', 'x = "abc', {}, 'SyntaxError', ['引号'], ['quote']),
    ('python 2', 'print "a"', {}, 'SyntaxError', ['Python 2'], ['Python 2']),
    ('indentation', 'if True:\nprint(1)', {}, 'IndentationError', ['缩进'], ['indent']),
    ('recursion', 'def f(): f()\nf()', {}, 'RecursionError', ['结束条件'], ['ends it']),
    ('assert', 'assert 1 == 2, "totals differ"', {}, 'AssertionError', ['totals differ'], ['totals differ']),
    ('memory', 'import numpy as np\nnp.ones((10**6, 10**6))', {}, 'MemoryError', ['内存', '512 MiB'], ['memory', '512 MiB']),
    ('own exception', 'class Odd(Exception): pass\nraise Odd("why")', {}, 'Odd', ['Odd', 'why'], ['Odd', 'why']),
    ('shell', '!curl http://x', {}, 'ShellNotAvailable', ['没有命令行'], ['no shell']),
    ('style of seaborn in a chart', 'import seaborn as sns, pandas as pd\nsns.barplot(data=pd.DataFrame({"区域": ["a"], "额": [1]}), x="区", y="额")', {}, 'ValueError', ['区域'], ['区域']),
)


class Explanations(BoxCase):
    preload = 'full'

    def test_cases(self):
        for kind, code, files, name, zh, en in CASES:
            with self.subTest(kind):
                result = self.run_code(code, files)
                self.assertIn(result.verdict, ('user_error', 'memory_limit'), f'{result.end} {result.text}')
                if name:
                    self.assertEqual(result.error['name'], name)
                self.assertIsInstance(result.error['line'], int)
                for language, words in (('zh', zh), ('en', en)):
                    text = result.error['explanation'][language]
                    self.assertTrue(text)
                    for word in words:
                        self.assertIn(word, text)
                    self.assertLess(len(text), 1500)

    def test_there_are_many_kinds(self):
        self.assertGreaterEqual(len({kind for kind, *_ in CASES}), 25)

    def test_hostile_variables_do_not_break_it(self):
        result = self.run_code(
            'class Evil:\n  def __getattr__(self, n): raise RuntimeError\n  def __eq__(self, o): raise RuntimeError\n  __hash__ = None\n  def __contains__(self, x): raise RuntimeError\n'
            'e = Evil(); d = {"a": e}\nclass E(Exception):\n  def __str__(self): raise RuntimeError\nraise E')
        self.assertEqual((result.verdict, result.error['name']), ('user_error', 'E'))
        self.assertTrue(result.error['explanation']['zh'])

    def test_a_chain_of_errors_names_the_last(self):
        result = self.run_code('try:\n  1/0\nexcept ZeroDivisionError as e:\n  raise ValueError("bad input") from e')
        self.assertEqual((result.error['name'], result.error['line']), ('ValueError', 4))
        self.assertIn(b'ZeroDivisionError', result.stderr)


if __name__ == '__main__':
    unittest.main()
