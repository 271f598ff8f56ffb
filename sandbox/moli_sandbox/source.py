"""Makes code as people and models write it into Python: Markdown fences, notebook magics, shell escapes, a program that is indented as a whole.

Lines are never added or removed, so the line of an error is the line in the code that was sent. Code that already parses is left alone.
"""
import ast
import re
import textwrap

FENCE = re.compile(r'^\s*(`{3,}|~{3,})\s*([\w+-]*)\s*$')
MAGIC = re.compile(r'^(\s*)(%{1,2})([A-Za-z_]\w*)(?:[ \t]+(.*?))?\s*$')
SHELL = re.compile(r'^(\s*)!{1,2}\s*(.+?)\s*$')
SHELL_ASSIGNMENT = re.compile(r'^(\s*)([A-Za-z_]\w*)\s*=\s*!\s*(.+?)\s*$')
QUESTION = re.compile(r'^(\s*)(?:\?{1,2}[\w.]+|[\w.]+\?{1,2})\s*$')
# Names that the rewritten lines call; execution.py puts them among the builtins.
SHELL_FUNCTION = '__moli_shell__'
MAGIC_FUNCTION = '__moli_magic__'
# Magics that time or capture a statement: the statement is what matters.
TRANSPARENT = {'time', 'timeit', 'prun', 'capture', 'memit'}
INSTALLERS = {'pip', 'conda', 'mamba'}
# Deepest nesting of brackets that Python's own parser takes without ending its stack.
PARSE_FAILURES = (SyntaxError, ValueError, RecursionError, MemoryError)


def clean(code):
    """Code as Python can read it, with the same lines. Code that can't be made to parse comes back as close to it as possible."""
    code = code.removeprefix('\ufeff')
    if parses(code):
        return code
    for repaired in repairs(code):
        if parses(repaired):
            return repaired
    return repaired


def repairs(code):
    """Attempts, each on top of the one before."""
    code = remove_fence(code)
    yield code
    code = dedent(code)
    yield code
    yield rewrite_magics(code)
    # A magic may have hidden the indentation of the rest from textwrap.
    yield dedent(rewrite_magics(code))


def parses(code):
    """Whether Python takes it, top-level await included."""
    try:
        compile(code, '<check>', 'exec', ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except PARSE_FAILURES:
        return False
    return True


def remove_fence(code):
    """Blanks the lines of a Markdown fence around the whole program; comments may stand before it. A fence inside the program stays."""
    lines = code.split('\n')
    meaningful = [i for i, line in enumerate(lines) if line.strip()]
    first = next((i for i in meaningful if not lines[i].lstrip().startswith('#')), None)
    if first is None or not (opening := FENCE.match(lines[first])):
        return code
    lines[first] = ''
    last = meaningful[-1]
    closing = FENCE.match(lines[last])
    if last != first and closing and closing[1][0] == opening[1][0]:
        lines[last] = ''
    return '\n'.join(lines)


def dedent(code):
    """Takes away the indentation that all statements share; comments at the margin do not count."""
    first = next((line for line in code.split('\n') if line.strip() and not line.lstrip().startswith('#')), '')
    if not first[:1].isspace():
        return code
    lines = code.split('\n')
    comments = {i: line for i, line in enumerate(lines) if line.startswith('#')}
    dedented = textwrap.dedent('\n'.join('' if i in comments else line for i, line in enumerate(lines))).split('\n')
    return '\n'.join(comments.get(i, line) for i, line in enumerate(dedented))


def rewrite_magics(code):
    """Replaces notebook lines by Python of one line each; lines inside strings and brackets are not touched."""
    lines = code.split('\n')
    for number, free in enumerate(statement_starts(lines)):
        if free:
            lines[number] = rewrite_line(lines[number])
    return '\n'.join(lines)


def rewrite_line(line):
    """One line that begins a statement."""
    if match := MAGIC.match(line):
        indent, marks, name, rest = match[1], match[2], match[3], match[4] or ''
        if name in INSTALLERS:
            return f'{indent}{SHELL_FUNCTION}({f"{name} {rest}"!r})'
        if name in TRANSPARENT:
            # `%%time` heads a cell; `%time f(x)` carries its statement, after options.
            statement = re.sub(r'^(?:-\w+\s*\d*\s+)+', '', rest)
            return indent + (statement if marks == '%' and statement else 'pass')
        return f'{indent}{MAGIC_FUNCTION}({name!r}, {rest!r}, {len(marks)})'
    if match := SHELL_ASSIGNMENT.match(line):
        return f'{match[1]}{match[2]} = {SHELL_FUNCTION}({match[3]!r}, True)'
    if match := SHELL.match(line):
        return f'{match[1]}{SHELL_FUNCTION}({match[2]!r})'
    if match := QUESTION.match(line):
        return f'{match[1]}pass'
    return line


def statement_starts(lines):
    """For each line: whether it begins outside of strings and brackets and does not continue the line before."""
    quote, depth, continued = '', 0, False
    for line in lines:
        yield not quote and depth <= 0 and not continued
        if not quote and (line.lstrip().startswith(('%', '!')) and depth <= 0 and not continued):
            # Quotes and brackets of a shell command are not Python's.
            continue
        quote, depth, continued = scan_line(line, quote, depth)


def scan_line(line, quote, depth):
    """State after a line: the quote that is still open, bracket depth, whether a backslash continues it."""
    i = 0
    while i < len(line):
        rest = line[i:i + 3]
        if quote:
            if line[i] == '\\':
                i += 1
            elif line.startswith(quote, i):
                i += len(quote) - 1
                quote = ''
        elif line[i] == '#':
            return '', depth, False
        elif rest in ('"""', "'''"):
            quote = rest
            i += 2
        elif line[i] in '"\'':
            quote = line[i]
        elif line[i] in '([{':
            depth += 1
        elif line[i] in ')]}':
            depth -= 1
        i += 1
    # A plain quote does not reach into the next line unless the line ends in a backslash.
    continued = line.endswith('\\')
    return (quote if len(quote) == 3 or continued else ''), depth, continued


def ends_with_semicolon(code):
    """A last statement that ends in `;` asks, as in a notebook, not to be shown."""
    for line in reversed(code.split('\n')):
        bare = line.split('#')[0].strip() if '"' not in line and "'" not in line else line.strip()
        if bare:
            return bare.endswith(';')
    return False
