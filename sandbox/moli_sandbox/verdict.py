"""How a run ended, from what the kernel and the monitor know; the program's own word only adds what went wrong inside it."""
import signal

from . import explain_end

TEXT_LIMITS = {'name': 200, 'message': 4_000, 'traceback': 32_000}
# What the program says of an error that is really a limit.
KINDS = {'memory': 'memory_limit', 'disk': 'disk_limit', 'threads': 'pids_limit', 'cpu': 'timeout_cpu'}


def describe_end(reason, code, result, relay, message=''):
    """{ verdict, exitCode, signal, error }. `code` is the exit status of a program that said no result; `relay` None when none ran."""
    limits = relay.limits if relay else None
    if reason:
        died = 'SIGKILL' if relay else None
        return _end(reason, None, died, _limit_error(reason, limits, message))
    if result is not None:
        return _by_its_word(result, limits)
    if code is not None and code < 0:
        return _by_signal(-code, relay)
    if code:
        group = relay.slot.group
        verdict = 'pids_limit' if group and group.pids_refused() else 'user_error'
        return _end(verdict, code, None, explain_end.exit_status(code))
    return _end('ok', 0, None, None)


def _by_its_word(result, limits):
    error = _clean_error(result.get('error'))
    code = result.get('exitCode')
    code = code if type(code) is int and -255 <= code <= 255 else 1 if error else 0
    if error is None:
        return _end('ok' if code == 0 else 'user_error', code, None, None if code == 0 else explain_end.exit_status(code))
    kind = result.get('kind')
    verdict = KINDS.get(kind, 'user_error') if isinstance(kind, str) else 'user_error'
    if verdict != 'user_error':
        error['explanation'] = explain_end.limit(verdict, limits)
    return _end(verdict, code or 1, None, error)


def _by_signal(number, relay):
    name = signal.Signals(number).name if number in set(signal.Signals) else f'SIG{number}'
    group, usage = relay.slot.group, relay.usage
    if number == signal.SIGKILL and group and group.out_of_memory():
        return _end('memory_limit', None, name, _limit_error('memory_limit', relay.limits))
    if number in (signal.SIGXCPU, signal.SIGKILL) and usage.cpu_ms >= relay.limits['cpuSeconds'] * 1000:
        return _end('timeout_cpu', None, name, _limit_error('timeout_cpu', relay.limits))
    if number == signal.SIGXFSZ:
        return _end('disk_limit', None, name, _limit_error('disk_limit', relay.limits))
    return _end('signalled', None, name, explain_end.signalled(name))


def _end(verdict, code, died, error):
    return {'verdict': verdict, 'exitCode': code, 'signal': died, 'error': error}


def _limit_error(reason, limits, message=''):
    return {
        'name': explain_end.LIMIT_NAMES.get(reason, 'PlatformError'),
        'message': message or explain_end.limit(reason, limits)['en'],
        'line': None,
        'traceback': '',
        'explanation': explain_end.limit(reason, limits, message),
    }


def _clean_error(error):
    """The program's description of its error with every field of the right type and length, or None."""
    if not isinstance(error, dict):
        return None
    clean = {name: error[name][:length] if isinstance(error.get(name), str) else '' for name, length in TEXT_LIMITS.items()}
    line = error.get('line')
    clean['line'] = line if type(line) is int and 0 < line < 1 << 31 else None
    given = error.get('explanation')
    clean['explanation'] = {
        language: given[language][:TEXT_LIMITS['message']] if isinstance(given, dict) and isinstance(given.get(language), str) else ''
        for language in ('zh', 'en')
    }
    return clean
