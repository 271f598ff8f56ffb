"""The channel on which a program says what it shows and how it ended: a socket pair of its own, never stdout.

User code shares the process with the sender, so a determined program can speak on it; it can only speak for itself. A message opens with a
random word of this run, so that stray writes to a descriptor do not pass for one. The reader takes bounded messages and believes no field.
"""
import json
import os
import struct

NONCE_BYTES = 16
HEADER = struct.Struct(f'<{NONCE_BYTES}sIc')
# Largest message; a picture has to fit.
MAX_MESSAGE = 40 << 20


class Sender:
    """The program's end."""

    def __init__(self, descriptor, nonce):
        self.descriptor = descriptor
        self.nonce = nonce

    def send(self, kind, value, data=b''):
        """Sends one message: JSON and, after a zero byte, raw bytes. Raises OSError when the channel is gone."""
        text = json.dumps(value, ensure_ascii=True, allow_nan=False).encode()
        body = text + b'\0' + data if data else text
        rest = memoryview(HEADER.pack(self.nonce, len(body), kind.encode()) + body)
        while rest:
            rest = rest[os.write(self.descriptor, rest[:1 << 16]):]
        if kind == 'P':
            # Taken: what is printed from here on comes after it.
            os.read(self.descriptor, 1)


class ResultReader:
    """The monitor's end: cuts bytes into (kind, payload). After anything that is no message, it takes nothing more."""

    def __init__(self, nonce):
        self.nonce = nonce
        self.buffer = bytearray()
        self.broken = False
        self.total = 0

    def feed(self, data):
        self.total += len(data)
        if self.broken:
            return []
        self.buffer += data
        messages = []
        while len(self.buffer) >= HEADER.size:
            nonce, length, kind = HEADER.unpack_from(self.buffer)
            if nonce != self.nonce or length > MAX_MESSAGE:
                self.broken = True
                self.buffer.clear()
                break
            if len(self.buffer) < HEADER.size + length:
                break
            messages.append((kind.decode('latin-1'), bytes(self.buffer[HEADER.size:HEADER.size + length])))
            del self.buffer[:HEADER.size + length]
        return messages
