"""Files: which are there, in which encoding, in which format."""
import json
import os
import re

PAIRED_ENCODINGS = 'utf-8-sig, gb18030, utf-16, big5, shift_jis'


def _names():
    from . import explain

    return explain.work_files()


def not_found(place):
    from . import explain

    error = place.error
    if not isinstance(error, FileNotFoundError):
        return None
    wanted = os.path.basename(str(error.filename or '')) or re.sub(r'.*: ', '', place.text)
    names = _names()
    if not names:
        return (
            f'找不到文件 {wanted}：这次运行的目录里没有任何文件。请先上传文件。',
            f'file {wanted} was not found: the folder of this run has no files at all. Upload the file first.',
        )
    close = explain.nearest(wanted, names)
    near = (f'是不是 {explain.listing(close)}？', f' Did you mean {explain.listing(close)}?') if close else ('', '')
    return (
        f'找不到文件 {wanted}。{near[0]}目录里有：{explain.listing(names)}。',
        f'file {wanted} was not found.{near[1]} The folder has: {explain.listing(names)}.',
    )


def folder_or_file(place):
    if isinstance(place.error, IsADirectoryError):
        return (f'{place.error.filename} 是文件夹，不是文件。', f'{place.error.filename} is a folder, not a file.')
    if isinstance(place.error, NotADirectoryError):
        return (f'{place.error.filename} 的路径里有一段是文件，不是文件夹。', f'a part of the path {place.error.filename} is a file, not a folder.')
    if isinstance(place.error, FileExistsError):
        return (f'{place.error.filename} 已经存在。可以换一个名字，或用 exist_ok=True。', f'{place.error.filename} exists already. Use another name, or exist_ok=True.')
    return None


def guess_encoding(place):
    """Tries the encodings of the file that was read, if it can be found among the literals of the line."""
    for name in re.findall(r'''["']([^"']+)["']''', place.code):
        path = os.path.join('/workspace', os.path.basename(name))
        if not os.path.isfile(path):
            continue
        with open(path, 'rb') as file:
            data = file.read(1 << 16)
        if data[:2] in (b'\xff\xfe', b'\xfe\xff'):
            return 'utf-16'
        for encoding in ('utf-8', 'gb18030', 'big5', 'shift_jis'):
            try:
                data[: len(data) - 4 if len(data) == 1 << 16 else None].decode(encoding)
            except UnicodeDecodeError:
                continue
            return encoding
    return None


def encoding(place):
    error = place.error
    if isinstance(error, UnicodeDecodeError):
        found = guess_encoding(place)
        try_first = (f"这个文件很可能是 {found} 编码，请写 encoding='{found}'", f"the file is very likely {found}: pass encoding='{found}'") if found and found != 'utf-8' else (
            f'可以依次试 encoding：{PAIRED_ENCODINGS}', f'try these as encoding: {PAIRED_ENCODINGS}')
        return (
            f'文件不是 {error.encoding} 编码。{try_first[0]}。',
            f'the file is not {error.encoding}; {try_first[1]}.',
        )
    if isinstance(error, UnicodeEncodeError):
        return (
            f'有字符不能用 {error.encoding} 保存。写文件时请用 encoding=\'utf-8-sig\'（Excel 能正确打开）。',
            f"a character cannot be written as {error.encoding}. Use encoding='utf-8-sig' when writing (Excel reads it).",
        )
    if isinstance(error, LookupError) and 'unknown encoding' in place.text:
        return (f'没有这种编码：{place.text}。常用的有 utf-8、gb18030、utf-16、big5。', f'{place.text}. Usual ones: utf-8, gb18030, utf-16, big5.')
    return None


def json_text(place):
    if isinstance(place.error, json.JSONDecodeError):
        error = place.error
        lines = 'Extra data' in error.msg
        return (
            f'JSON 格式不对：{error.msg}（第 {error.lineno} 行第 {error.colno} 列）。' + ('如果每行一个 JSON，请用 pd.read_json(…, lines=True)。' if lines else '请检查内容是否完整、引号是否是英文双引号。'),
            f'the JSON is malformed: {error.msg} (its line {error.lineno}, column {error.colno}). ' + ('If it has one JSON a line, use pd.read_json(…, lines=True).' if lines else 'Check that it is complete and uses double quotes.'),
        )
    return None


def csv_shape(place):
    kind = type(place.error).__name__
    if kind == 'ParserError':
        return (
            f'表格的行列数不一致：{place.text[:200]}。可以先看文件开头几行，再指定分隔符 sep、跳过说明行 skiprows，或用 on_bad_lines=\'skip\'。',
            f"rows of the table differ in length: {place.text[:200]}. Look at the first lines, then give the separator (sep), skip note lines (skiprows), or use on_bad_lines='skip'.",
        )
    if kind == 'EmptyDataError':
        return ('文件是空的，或没有可以读取的列。', 'the file is empty, or has no columns that can be read.')
    return None


def workbook(place):
    kind = type(place.error).__name__
    if kind in ('BadZipFile', 'XLRDError', 'InvalidFileException') or 'Excel file format cannot be determined' in place.text or 'not a zip file' in place.text:
        return (
            f'这个文件不是它的后缀所说的 Excel 格式（{place.text[:150]}）。它可能是 CSV、HTML 或带密码的文件：可以试 pd.read_csv 或 pd.read_html，或在 Excel 里另存为 .xlsx。',
            f'the file is not the Excel format that its name says ({place.text[:150]}). It may be CSV, HTML, or protected by a password: try pd.read_csv or pd.read_html, or save it as .xlsx in Excel.',
        )
    if isinstance(place.error, ValueError) and (match := re.search(r"Worksheet named '(.+?)' not found", place.text)):
        from . import explain

        sheets = next((value.sheet_names for value in place.local_values() if hasattr(value, 'sheet_names')), [])
        return (
            f'工作簿里没有名为「{match[1]}」的工作表。' + (f'有：{explain.listing(sheets)}。' if sheets else '可以用 pd.ExcelFile(文件).sheet_names 查看。'),
            f'the workbook has no sheet "{match[1]}". ' + (f'It has: {explain.listing(sheets)}.' if sheets else 'List them with pd.ExcelFile(file).sheet_names.'),
        )
    return None


RULES = (not_found, folder_or_file, encoding, json_text, csv_shape, workbook)
