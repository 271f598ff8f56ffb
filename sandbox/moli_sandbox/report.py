"""One JSON line for each thing that the launcher should know, on the descriptor that it gave."""
import json
import os

_descriptor = 2


def report_to(descriptor):
    """Sends reports to this descriptor (stderr until then)."""
    global _descriptor
    _descriptor = descriptor


def report(event, **fields):
    """Writes one line; shorter than PIPE_BUF (4,096 bytes), so lines of several processes do not mix."""
    line = json.dumps({'event': event, **fields}, ensure_ascii=True)[:4000] + '\n'
    try:
        os.write(_descriptor, line.encode())
    except OSError:
        pass
