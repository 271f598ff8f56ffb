"""Runs the code of a job as __main__, like a cell of a notebook, and tells the monitor how it ended. Behind closed walls."""
import os
import sys


def run(job, sender):
    """Never returns: the process ends with the program."""
    code = compile(job['code'], job['filename'], 'exec')
    result = {'exitCode': 0, 'error': None}
    try:
        exec(code, {'__name__': '__main__'})
    except BaseException as error:
        result = {'exitCode': 1, 'error': {'name': type(error).__name__, 'message': str(error)}}
    sys.stdout.flush()
    sys.stderr.flush()
    sender.send('R', result)
    os._exit(result['exitCode'])
