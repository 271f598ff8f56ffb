"""Frames of PROTOCOL.md: u32 little-endian length of type and payload, u8 type, payload."""
import json
import struct

HEADER = struct.Struct('<IB')
# Largest payload of a frame.
MAX_PAYLOAD = 1 << 20


class BrokenFrame(Exception):
    """The other side does not speak the protocol, or went away in the middle of a frame."""


def frame(kind, payload=b''):
    """Bytes of one frame; kind is one ASCII letter."""
    return HEADER.pack(len(payload) + 1, ord(kind)) + payload


def json_frame(kind, value):
    """A frame of strict JSON: NaN and infinities are a ValueError, not a word that no other parser takes.

    Texts lose what no database and no screen takes: NUL and halves of surrogate pairs become visible stand-ins.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(',', ':'))
    if '\\u0000' in text or not text.isascii() and any('\ud800' <= character <= '\udfff' for character in text):
        text = json.dumps(storable(value), ensure_ascii=False, allow_nan=False, separators=(',', ':'))
    return frame(kind, text.encode())


def storable(value):
    """The same value with every text fit for UTF-8 and for a text column."""
    if isinstance(value, str):
        return value.replace('\0', '\u2400').encode('utf-8', 'backslashreplace').decode()
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): storable(item) for name, item in value.items()}
    return value


class FrameReader:
    """Cuts a byte stream into frames. `feed` takes bytes as they come, `take` gives (kind, payload) or None when more is needed."""

    def __init__(self, max_payload=MAX_PAYLOAD):
        self.buffer = bytearray()
        self.max_payload = max_payload

    def feed(self, data):
        self.buffer += data

    def take(self):
        if len(self.buffer) < HEADER.size:
            return None
        length, kind = HEADER.unpack_from(self.buffer)
        if not 1 <= length <= self.max_payload + 1:
            raise BrokenFrame(f'a frame of {length} bytes')
        end = HEADER.size - 1 + length
        if len(self.buffer) < end:
            return None
        payload = bytes(self.buffer[HEADER.size:end])
        del self.buffer[:end]
        return chr(kind), payload
