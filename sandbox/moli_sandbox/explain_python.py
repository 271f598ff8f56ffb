"""Errors of plain Python: names, attributes, modules, types, indexes, arithmetic, recursion."""
import builtins
import re
import sys

# Import names that people ask for, and what is here instead.
INSTEAD = {
    'cv2': 'PIL, matplotlib', 'torch': 'sklearn', 'tensorflow': 'sklearn', 'keras': 'sklearn', 'xgboost': 'sklearn.ensemble.HistGradientBoostingClassifier',
    'lightgbm': 'sklearn.ensemble.HistGradientBoostingClassifier', 'catboost': 'sklearn.ensemble', 'polars': 'pandas', 'pyecharts': 'plotly, matplotlib',
    'bokeh': 'plotly', 'altair': 'plotly', 'wordcloud': 'jieba + matplotlib', 'requests': '', 'httpx': '', 'pymysql': '', 'sqlalchemy': 'sqlite3', 'duckdb': 'pandas, sqlite3',
    'fitz': 'pypdf', 'PyPDF2': 'pypdf', 'pdfplumber': 'pypdf', 'prophet': 'statsmodels', 'pmdarima': 'statsmodels', 'geopandas': '', 'networkx': '', 'yaml': 'json', 'nltk': 'jieba',
}
HERE = 'pandas numpy matplotlib scipy sklearn seaborn plotly statsmodels openpyxl xlrd xlsxwriter pyarrow PIL docx pptx pypdf bs4 lxml sympy jieba tabulate jinja2 chardet'.split()


def _explain():
    from . import explain

    return explain


def module_missing(place):
    error = place.error
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    from . import notebook

    name = error.name.split('.')[0]
    there = [module for module in HERE if notebook.is_importable(module)]
    close = _explain().nearest(name, there, 1)
    instead = INSTEAD.get(name) or (close[0] if close else '')
    use = (f'可以改用 {instead}。', f' Use {instead} instead.') if instead else ('', '')
    if name in ('requests', 'httpx', 'aiohttp', 'pymysql', 'psycopg2', 'yfinance', 'akshare', 'tushare'):
        use = ('运行环境没有网络，请把数据文件上传到对话里。', ' A run has no network: upload the data to the chat.')
    return (
        f'没有安装模块 {name}，运行中也不能安装。{use[0]}已安装的有：{", ".join(there)}。',
        f'the module {name} is not installed, and a run cannot install one.{use[1]} Installed: {", ".join(there)}.',
    )


def import_name(place):
    if isinstance(place.error, ImportError) and (match := re.search(r"cannot import name '(\w+)' from '([\w.]+)'", place.text)):
        module = sys.modules.get(match[2])
        close = _explain().nearest(match[1], [name for name in dir(module) if not name.startswith('_')]) if module else []
        near = (f'相近的有：{", ".join(close)}。', f' Similar: {", ".join(close)}.') if close else ('', '')
        return (f'模块 {match[2]} 里没有 {match[1]}（版本不同，名字可能变了）。{near[0]}', f'{match[2]} has no {match[1]} (names change between versions).{near[1]}')
    if isinstance(place.error, ImportError) and (match := re.search(r"Missing optional dependency '(\w+)'", place.text)):
        return (f'这个功能需要模块 {match[1]}，这里没有安装。', f'this needs the module {match[1]}, which is not installed here.')
    return None


def name_unknown(place):
    error = place.error
    if not isinstance(error, NameError):
        return None
    name = error.name or (re.search(r"'(\w+)'", place.text) or ['', ''])[1]
    if isinstance(error, UnboundLocalError):
        return (f'变量 {name} 在赋值之前就被使用（函数里给它赋过值，它就是局部变量）。', f'the variable {name} is used before it has a value (it is assigned in the function, so it is local there).')
    known = {'pd': 'import pandas as pd', 'np': 'import numpy as np', 'plt': 'import matplotlib.pyplot as plt', 'sns': 'import seaborn as sns', 'px': 'import plotly.express as px', 'os': 'import os', 're': 'import re', 'json': 'import json', 'datetime': 'from datetime import datetime', 'math': 'import math'}
    if name in known:
        return (f'还没有导入 {name}。请在开头写：{known[name]}。', f'{name} was not imported. Put at the top: {known[name]}.')
    close = _explain().nearest(name, [key for key in place.namespace if not key.startswith('_')] + dir(builtins))
    near = (f'是不是 {", ".join(close)}？', f' Did you mean {", ".join(close)}?') if close else ('每次运行都从头开始，之前运行里的变量不会保留。', ' Each run starts afresh: variables of earlier runs are gone.')
    return (f'没有名为 {name} 的变量或函数。{near[0]}', f'there is no variable or function called {name}.{near[1]}')


def attribute(place):
    error = place.error
    if not isinstance(error, AttributeError):
        return None
    if "'NoneType' object has no attribute" in place.text:
        return (
            f'这里的值是 None，没有 {error.name}。前一步没有返回结果（例如 inplace=True 的方法返回 None，或没有找到内容）。',
            f'the value here is None and has no {error.name}. The step before returned nothing (methods with inplace=True return None, or nothing was found).',
        )
    target = error.obj
    names = [name for name in dir(target) if not name.startswith('_')] if target is not None else []
    columns = [str(name) for name in getattr(target, 'columns', [])] if hasattr(target, 'columns') else []
    close = _explain().nearest(error.name or '', columns + names)
    what = f'模块 {target.__name__}' if isinstance(target, type(sys)) else f'{type(target).__name__} 类型的值'
    what_en = f'module {target.__name__}' if isinstance(target, type(sys)) else f'a value of type {type(target).__name__}'
    near = (f'相近的有：{", ".join(close)}。', f' Similar: {", ".join(close)}.') if close else ('', '')
    has = (f'现有的列：{_explain().listing(columns)}。', f' Columns: {_explain().listing(columns)}.') if columns else ('', '')
    return (f'{what}没有 {error.name}。{near[0]}{has[0]}', f'{what_en} has no {error.name}.{near[1]}{has[1]}')


def key(place):
    if not isinstance(place.error, KeyError):
        return None
    wanted = place.error.args[0] if place.error.args else ''
    for value in place.local_values():
        if type(value) is dict and value and wanted not in value and value is not place.namespace and len(value) < 10_000 and '__builtins__' not in value:
            names = [str(name) for name in value]
            close = _explain().nearest(wanted, names)
            near = (f'是不是 {_explain().listing(close)}？', f' Did you mean {_explain().listing(close)}?') if close else ('', '')
            return (f'字典里没有键 {wanted!r}。{near[0]}现有的键：{_explain().listing(names)}。', f'the dictionary has no key {wanted!r}.{near[1]} Its keys: {_explain().listing(names)}.')
    return (f'没有键 {wanted!r}。可以用 .get({wanted!r}) 避免出错。', f'there is no key {wanted!r}. .get({wanted!r}) does not fail.')


def index(place):
    if isinstance(place.error, IndexError):
        return (f'下标超出范围（{place.text[:120]}）。列表从 0 开始，最后一个是 len(x)-1；也可能数据是空的。', f'an index is out of range ({place.text[:120]}). Lists start at 0 and end at len(x)-1; or the data is empty.')
    return None


def arithmetic(place):
    if isinstance(place.error, ZeroDivisionError):
        return ('除数是 0。请先判断分母是否为 0，或在 pandas 里用 .replace(0, float(\'nan\'))。', "division by zero. Check the divisor first, or in pandas use .replace(0, float('nan')).")
    if isinstance(place.error, OverflowError):
        return (f'数值太大：{place.text[:120]}。', f'a number is too large: {place.text[:120]}.')
    return None


def recursion(place):
    if isinstance(place.error, RecursionError):
        return ('函数一层层调用自己，没有结束。请检查结束条件，或改写成循环。', 'a function calls itself without end. Check the condition that ends it, or write a loop.')
    return None


def types(place):
    error, text = place.error, place.text
    if not isinstance(error, TypeError):
        return None
    if match := re.search(r"unsupported operand type\(s\) for (.+?): '(.+?)' and '(.+?)'", text):
        return (f'不能对 {match[2]} 和 {match[3]} 做 {match[1]} 运算。请先转换类型，例如 int(x)、float(x)、str(x)。', f'{match[1]} does not work between {match[2]} and {match[3]}. Convert first, for example int(x), float(x), str(x).')
    if match := re.search(r'can only concatenate str \(not "(.+?)"\)|must be str, not (\w+)', text):
        return (f'不能把文本和 {match[1] or match[2]} 直接相加。请用 str(x) 或 f"{{x}}"。', f'text and {match[1] or match[2]} cannot be added. Use str(x) or f"{{x}}".')
    if match := re.search(r"'(\w+)' object is not (callable|subscriptable|iterable)", text):
        words = {'callable': '当作函数调用', 'subscriptable': '用 [ ] 取值', 'iterable': '用于循环'}
        hint = ('它可能是上一步没有返回结果。' if match[1] == 'NoneType' else '是不是有变量和函数同名？' if match[2] == 'callable' else '')
        hint_en = (' Perhaps the step before returned nothing.' if match[1] == 'NoneType' else ' Does a variable have the name of the function?' if match[2] == 'callable' else '')
        return (f'{match[1]} 类型的值不能{words[match[2]]}。{hint}', f'a value of type {match[1]} is not {match[2]}.{hint_en}')
    if match := re.search(r"(\w+)\(\) (?:missing \d+ required .*?: (.+)|got an unexpected keyword argument '(\w+)'|takes .* positional arguments? but .* given)", text):
        return (f'调用 {match[1]}() 的参数不对：{text[:200]}。', f'wrong arguments for {match[1]}(): {text[:200]}.')
    if 'not JSON serializable' in text:
        return ('有的值不能写成 JSON。请先转换（例如 int(x)、x.tolist()、str(x)），或用 json.dumps(…, default=str)。', 'some value cannot be written as JSON. Convert it first (int(x), x.tolist(), str(x)), or use json.dumps(…, default=str).')
    if re.search("'<' not supported|'>' not supported|not supported between", text):
        return (f'不同类型的值不能比较大小：{text[:150]}。列里可能混有文本和数字或空值。', f'values of different types cannot be compared: {text[:150]}. The column may mix text with numbers or empty values.')
    return (f'类型不对：{text[:200]}。', f'wrong type: {text[:200]}.')


def values(place):
    if isinstance(place.error, ValueError):
        return (f'值不合适：{place.text[:250]}。', f'a value does not fit: {place.text[:250]}.')
    if isinstance(place.error, AssertionError):
        return (f'程序里的检查（assert）没有通过：{place.text[:200] or place.source_line}。', f'a check of the program (assert) did not hold: {place.text[:200] or place.source_line}.')
    if isinstance(place.error, KeyboardInterrupt):
        return ('程序被中断。', 'the program was interrupted.')
    if isinstance(place.error, StopIteration):
        return ('迭代器已经没有下一个值。', 'the iterator has no next value.')
    if isinstance(place.error, NotImplementedError):
        return (f'这个功能没有实现：{place.text[:200]}。', f'this is not implemented: {place.text[:200]}.')
    if isinstance(place.error, EOFError):
        return ('输入提前结束：文件不完整或是空的。', 'the input ended early: a file is incomplete or empty.')
    if isinstance(place.error, TimeoutError):
        return ('等待超时。', 'waiting took too long.')
    return None


RULES = (module_missing, import_name, name_unknown, attribute, recursion, key, index, arithmetic, types, values)
