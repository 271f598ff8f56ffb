"""One output stream of a run: the first bytes as they come, then only the last few, and how much was left out between."""
from . import wire

# Kept from the end of a stream that went over its limit.
TAIL_BYTES = 4096
# A program that writes this many times its limit is ended: it is not going to say more.
FLOOD_FACTOR = 64


class Output:
    """Counts, forwards and caps the bytes of stdout or stderr. Memory use does not grow with what is written."""

    def __init__(self, kind, limit):
        self.kind = kind
        self.limit = limit
        self.total = 0
        self.tail = b''

    @property
    def truncated(self):
        return self.total > self.limit

    @property
    def flooded(self):
        return self.total > self.limit * FLOOD_FACTOR

    def take(self, data):
        """Frames to send for a piece of output."""
        room = max(0, self.limit - self.total)
        self.total += len(data)
        head, rest = data[:room], data[room:]
        if rest:
            self.tail = (self.tail + rest)[-TAIL_BYTES:]
        return wire.frame(self.kind, head) if head else b''

    def finish(self):
        """Frames to send at the end: the notice and the tail, when something was left out."""
        over = self.total - self.limit
        if over <= 0:
            return b''
        missing = over - len(self.tail)
        notice = f'\n… {missing:,} bytes left out …\n'.encode() if missing > 0 else b''
        return wire.frame(self.kind, notice + self.tail)
