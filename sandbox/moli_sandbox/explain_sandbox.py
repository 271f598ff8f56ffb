"""What a run may not do: network, other processes, questions, more memory, threads or disk than it has."""
import re
import socket

from . import notebook

NETWORK_MODULES = ('urllib', 'http/client', 'requests', 'httpx', 'aiohttp', 'socket.py', 'ftplib', 'smtplib', 'yfinance', 'akshare', 'tushare')


def shell(place):
    if isinstance(place.error, notebook.ShellNotAvailable):
        return (
            '运行环境里没有命令行，不能执行 shell 命令。请用 Python 完成同样的事，例如用 os、pathlib、shutil 处理文件。',
            'there is no shell in a run, so shell commands cannot be executed. Do the same in Python, for example with os, pathlib or shutil.',
        )
    return None


def question(place):
    if isinstance(place.error, EOFError) and (place.called('input', 'getpass.py') or re.search(r'\binput\s*\(|getpass|stdin', place.source_line)):
        return (
            '运行中的程序不能向您提问：input() 得不到回答。请直接在对话里把需要的值告诉我，或把它写进代码里。',
            'a run cannot ask questions: input() gets no answer. Give the value in the chat, or write it into the code.',
        )
    if type(place.error).__name__ == 'BdbQuit':
        return ('运行环境里不能使用交互式调试器（pdb、breakpoint）。请改用 print。', 'an interactive debugger (pdb, breakpoint) cannot be used in a run. Print the values instead.')
    return None


def network(place):
    error = place.error
    refused = isinstance(error, (socket.gaierror, ConnectionError)) or type(error).__name__ in (
        'URLError', 'ConnectTimeout', 'ConnectError', 'MaxRetryError', 'NewConnectionError', 'RemoteDisconnected', 'SSLError', 'ClientConnectorError',
    )
    refused = refused or isinstance(error, PermissionError) and place.called(*NETWORK_MODULES)
    if refused:
        return (
            '运行环境没有网络，不能访问网址、接口或数据库。请先把需要的文件下载下来，再上传到对话里。',
            'a run has no network: addresses, APIs and databases cannot be reached. Download the file yourself and upload it to the chat.',
        )
    return None


def processes(place):
    error = place.error
    asked = place.called('subprocess.py', 'popen_fork.py', 'popen_spawn_posix.py', 'spawnv_passfds', 'fork') or re.search(r'os\.(fork|system|popen|spawn|exec)', place.source_line)
    if isinstance(error, (PermissionError, BlockingIOError)) and asked or isinstance(error, (PermissionError, OSError)) and place.called('multiprocessing/', 'loky'):
        return (
            '运行环境不能启动其他进程（subprocess、os.fork、multiprocessing）。需要并行时请用线程：concurrent.futures.ThreadPoolExecutor，或 joblib 的 threading 后端。',
            'a run cannot start other processes (subprocess, os.fork, multiprocessing). For parallel work use threads: concurrent.futures.ThreadPoolExecutor, or the threading backend of joblib.',
        )
    return None


def memory(place):
    if isinstance(place.error, MemoryError):
        wanted = re.search(r'Unable to allocate ([\d.]+ \w+)', place.text)
        size = wanted[1] if wanted else ''
        return (
            f'内存不够{f"（需要 {size}）" if size else ""}。请只读需要的列、分块处理、使用更小的类型，或避免巨大的中间结果。',
            f'not enough memory{f" ({size} wanted)" if size else ""}. Read only the columns you need, work in pieces, use smaller types, or avoid huge intermediate results.',
        )
    return None


def threads(place):
    if isinstance(place.error, RuntimeError) and "can't start new thread" in place.text:
        return (
            '线程太多，超过了上限。请减少线程数，例如 ThreadPoolExecutor(max_workers=4)。',
            'too many threads: the limit was reached. Use fewer, for example ThreadPoolExecutor(max_workers=4).',
        )
    return None


def disk(place):
    if isinstance(place.error, OSError) and place.error.errno in (27, 28, 122):
        return (
            '可用的磁盘空间已用完（或文件太多）。请减少写入的内容，或删除中间文件。',
            'the disk space of the run is used up (or there are too many files). Write less, or delete intermediate files.',
        )
    return None


def permission(place):
    if isinstance(place.error, OSError) and place.error.errno in (1, 13, 30):
        name = place.error.filename
        where = f' {name}' if name else ''
        return (
            f'没有权限访问{where}。程序只能读写当前目录（/workspace，也就是 /mnt/data）和 /tmp；请把文件写到当前目录。',
            f'no permission for{where or " this"}. A program may read and write only the current folder (/workspace, the same as /mnt/data) and /tmp; write files to the current folder.',
        )
    return None


RULES = (shell, question, network, processes, memory, threads, disk, permission)
