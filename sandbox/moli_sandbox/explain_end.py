"""Explanations, zh and en, of ends that are not a Python error: limits, signals, exit codes."""

LIMIT_NAMES = {
    'timeout_wall': 'Timeout',
    'timeout_cpu': 'CpuTimeout',
    'memory_limit': 'MemoryLimit',
    'pids_limit': 'ThreadLimit',
    'disk_limit': 'DiskLimit',
    'output_limit': 'OutputLimit',
    'cancelled': 'Cancelled',
}


def mebibytes(count):
    """Bytes as a number of MiB that people read."""
    return f'{count / (1 << 20):,.0f} MiB' if count >= 1 << 20 else f'{count / 1024:,.0f} KiB'


def seconds(value):
    """Seconds without a useless fraction."""
    return f'{value:g}'


def limit(verdict, limits, message=''):
    """{ zh, en } for a verdict that names a limit."""
    if verdict == 'timeout_wall':
        wall = seconds(limits['wallSeconds'])
        return _both(
            f'程序运行超过 {wall} 秒，已被停止。请检查有没有不会结束的循环，或先用一部分数据、用向量化写法（避免逐行循环）。停止前的输出已保留。',
            f'The program ran for more than {wall} s and was stopped. Look for a loop that never ends, try a part of the data, or replace row-by-row loops by vectorised calls. Output until then was kept.',
        )
    if verdict == 'timeout_cpu':
        cpu = seconds(limits['cpuSeconds'])
        return _both(
            f'程序用完了 {cpu} 秒的处理器时间，已被停止。请减少计算量：先取样，或用向量化写法。',
            f'The program used up its {cpu} s of processor time and was stopped. Compute less: take a sample first, or use vectorised calls.',
        )
    if verdict == 'memory_limit':
        memory = mebibytes(limits['memoryBytes'])
        return _both(
            f'程序需要的内存超过上限 {memory}。可以只读需要的列（usecols）、分块读取（chunksize）、使用更小的类型（category、float32），或避免产生巨大的中间结果（如多对多合并）。',
            f'The program needed more memory than the limit of {memory}. Read only the columns you need (usecols), read in pieces (chunksize), use smaller types (category, float32), or avoid huge intermediate results such as many-to-many merges.',
        )
    if verdict == 'disk_limit':
        disk = mebibytes(limits['diskBytes'])
        return _both(
            f'写入的文件超过了空间上限 {disk}（或文件数量过多）。请减少写入的内容，或删除不再需要的中间文件。',
            f'The files written exceed the limit of {disk} (or there are too many of them). Write less, or delete intermediate files that are no longer needed.',
        )
    if verdict == 'pids_limit':
        count = limits['pids']
        return _both(
            f'程序开启的线程超过上限 {count}。请减少线程数（例如 ThreadPoolExecutor(max_workers=4)）。',
            f'The program started more threads than the limit of {count}. Use fewer (for example ThreadPoolExecutor(max_workers=4)).',
        )
    if verdict == 'output_limit':
        output = mebibytes(limits['outputBytes'])
        return _both(
            f'程序输出太多，远超上限 {output}，已被停止。请不要在循环里大量打印，把结果写入文件或只打印摘要。',
            f'The program printed far more than the limit of {output} and was stopped. Do not print in a large loop; write results to a file or print a summary.',
        )
    if verdict == 'cancelled':
        return _both('运行已被取消。', 'The run was cancelled.')
    return _both(
        f'这次运行没有开始：{message or "运行环境出错"}。这不是代码的问题，请再试一次。',
        f'This run did not start: {message or "the sandbox failed"}. The code is not at fault; please try again.',
    )


def signalled(name):
    """{ name, message, … } of a program that a signal ended."""
    return {
        'name': name,
        'message': f'the program was ended by {name}',
        'line': None,
        'traceback': '',
        'explanation': _both(
            f'程序在运行中崩溃（{name}）。常见原因是本地库（C 扩展）出错、递归过深或用 ctypes 访问了无效内存。',
            f'The program crashed ({name}). Usual causes: a fault in a native library (C extension), recursion that is too deep, or invalid memory touched through ctypes.',
        ),
    }


def exit_status(code):
    """{ name, message, … } of a program that ended itself with a status that is not zero."""
    return {
        'name': 'SystemExit',
        'message': str(code),
        'line': None,
        'traceback': '',
        'explanation': _both(f'程序用退出码 {code} 主动结束（sys.exit 或 os._exit）。', f'The program ended itself with exit status {code} (sys.exit or os._exit).'),
    }


def _both(zh, en):
    return {'zh': zh, 'en': en}
