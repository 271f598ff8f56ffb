"""Code that Python can't read."""
import re

FULL_WIDTH = {'，': ',', '（': '(', '）': ')', '：': ':', '；': ';', '“': '"', '”': '"', '‘': "'", '’': "'", '【': '[', '】': ']', '。': '.', '！': '!', '＝': '='}


def nested(place):
    if isinstance(place.error, (MemoryError, RecursionError, SyntaxError)) and not place.frames and re.search('too many nested|nesting|stack|recursion', place.text or 'stack'):
        return ('代码的括号或表达式嵌套太深，Python 无法解析。', 'brackets or expressions are nested too deeply for Python to read.')
    return None


def null_bytes(place):
    if isinstance(place.error, (ValueError, SyntaxError)) and 'null byte' in place.text:
        return ('代码里有空字符（NUL），可能是复制时带入的。请删除后重试。', 'the code contains a NUL character, perhaps from copying. Remove it and try again.')
    return None


def indentation(place):
    if isinstance(place.error, IndentationError):
        tabs = isinstance(place.error, TabError)
        return (
            '缩进' + ('混用了制表符和空格。请统一用 4 个空格。' if tabs else f'不对（{place.error.msg}）。同一层的代码要对齐，冒号之后要缩进 4 个空格。'),
            'the indentation ' + ('mixes tabs and blanks. Use 4 blanks.' if tabs else f'is wrong ({place.error.msg}). Lines of one block must align; after a colon indent by 4 blanks.'),
        )
    return None


def syntax(place):
    error = place.error
    if not isinstance(error, SyntaxError) or place.frames and error.filename != place.path:
        return None
    wrong = re.search(r"invalid (?:non-printable )?character '?(.)?'? ?\(?U\+([0-9A-F]+)", error.msg or '')
    if wrong:
        character = chr(int(wrong[2], 16))
        plain = FULL_WIDTH.get(character)
        hint = (f'，请改成英文的 {plain}', f'; write {plain} instead') if plain else ('，请删除或替换', '; remove or replace it')
        return (
            f'代码里有 Python 不认识的字符「{character}」（U+{wrong[2]}）{hint[0]}。',
            f'the code has a character that Python does not know: {character} (U+{wrong[2]}){hint[1]}.',
        )
    if 'was never closed' in (error.msg or '') or 'unexpected EOF' in (error.msg or ''):
        return (f'括号没有配对：{error.msg}。', f'a bracket is not closed: {error.msg}.')
    if 'unterminated' in (error.msg or ''):
        return ('字符串的引号没有配对。', 'a string has no closing quote.')
    if 'Missing parentheses' in (error.msg or ''):
        return ('这是 Python 2 的写法；Python 3 要写成 print(...)。', 'this is Python 2; in Python 3 write print(...).')
    if odd := next((character for character in place.source_line if character in FULL_WIDTH), None):
        return (
            f'语法错误：{error.msg}。这一行有中文标点「{odd}」；如果它不在引号里，请改成英文的 {FULL_WIDTH[odd]}。',
            f'syntax error: {error.msg}. The line has the full-width mark {odd}; outside of quotes write {FULL_WIDTH[odd]} instead.',
        )
    return (f'语法错误：{error.msg}。请检查这一行和上一行的括号、冒号、引号。', f'syntax error: {error.msg}. Look at the brackets, colons and quotes of this line and the one before.')


RULES = (nested, null_bytes, indentation, syntax)
