"""The channel on which a program says what it shows and how it ended: a socket pair of its own, never stdout.

User code shares the process with the sender, so a determined program can speak on it; it can only speak for itself. A message opens with a
random word of this run, so that stray writes to a descriptor do not pass for one. The reader takes bounded messages and believes no field.
"""
import json
import os
import struct

NONCE_BYTES = 16
# Nonce, kind, bytes of JSON, bytes of a picture or page.
HEADER = struct.Struct(f'<{NONCE_BYTES}scII')
# A display, and the result.
KINDS = (b'P', b'R')
# JSON of a display has to fit into one frame; parsed, JSON takes many times its length.
MAX_TEXT = 1_000_000
MAX_RESULT = 1 << 18
MAX_DATA = 24 << 20
# Bound before user code: a program that replaces json.dumps still gets its result told.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Sender:
    """The program's end."""

    def __init__(self, descriptor, nonce):
        self.descriptor = descriptor
        self.nonce = nonce

    def send(self, kind, value, data=b''):
        """Sends one message: JSON and raw bytes. Raises OSError when the channel is gone."""
        text = _encode(value).encode('utf-8', 'backslashreplace')
        for part in (HEADER.pack(self.nonce, kind.encode(), len(text), len(data)) + text, data):
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(self.descriptor, rest[:1 << 16]):]
        if kind == 'P':
            # Taken: what is printed from here on comes after it.
            os.read(self.descriptor, 1)


class ResultReader:
    """The monitor's end: cuts bytes into (kind, text, data). After anything that is no message, it takes nothing more."""

    def __init__(self, nonce):
        self.nonce = nonce
        self.buffer = bytearray()
        self.broken = False
        self.total = 0

    def feed(self, data):
        """The messages that these bytes complete."""
        self.total += len(data)
        if self.broken:
            return []
        self.buffer += data
        messages = []
        while len(self.buffer) >= HEADER.size:
            nonce, kind, text, extra = HEADER.unpack_from(self.buffer)
            if nonce != self.nonce or kind not in KINDS or text > (MAX_TEXT if kind == b'P' else MAX_RESULT) or extra > MAX_DATA:
                self.broken = True
                self.buffer.clear()
                break
            end = HEADER.size + text + extra
            if len(self.buffer) < end:
                break
            middle = HEADER.size + text
            messages.append((kind.decode('latin-1'), bytes(self.buffer[HEADER.size:middle]), bytes(memoryview(self.buffer)[middle:end])))
            del self.buffer[:end]
        return messages
