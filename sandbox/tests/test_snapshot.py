"""The zygote's memory in a file: the same bytes, nothing shared, nothing that can be written to."""
import subprocess
import sys
import unittest

from support import SANDBOX
from moli_sandbox import snapshot

# Sets up much and little, takes the snapshot, and goes on with all of it, in a process of its own.
PROGRAM = '''
import gc, os, random, sys
sys.path.insert(0, sys.argv[1])
from moli_sandbox import snapshot
texts = [str(number) for number in range(200_000)]
large, words = bytearray(range(256)) * 50_000, {text: [text] for text in texts[:50_000]}
assert snapshot.take() > 20 << 20
mapped = [line for line in open("/proc/self/maps") if "memfd:zygote" in line]
assert mapped and all(line.split()[1] in ("rw-p", "r--p") for line in mapped), mapped
assert not [name for name in os.listdir("/proc/self/fd") if "memfd" in os.path.realpath("/proc/self/fd/" + name)]

def whole():
    return texts == [str(number) for number in range(200_000)] and large == bytearray(range(256)) * 50_000 and words["49999"] == ["49999"]

def in_a_child(action):
    pid = os.fork()
    if pid == 0:
        action()
        os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def change():
    for index in range(len(large)):
        large[index] = 0
    texts.clear(), words.clear(), gc.collect()
    grown = bytearray(b"x") * (64 << 20)
    grown.extend(bytes(64 << 20))
    large.extend(bytes(100 << 20))
    assert large.count(0) == len(large) and texts == []

assert whole()
assert in_a_child(change) == 7
# What a child changed is not seen by its parent, nor by another child.
assert whole() and in_a_child(lambda: whole() or os._exit(1)) == 7
change()
assert in_a_child(lambda: None) == 7
print("whole")
'''


class Snapshot(unittest.TestCase):
    def test_memory_is_as_it_was(self):
        environment = {'PATH': '/usr/bin', 'MALLOC_MMAP_MAX_': '0'}
        done = subprocess.run(
            [sys.executable, '-B', '-c', PROGRAM, str(SANDBOX)], env=environment, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual((done.stdout, done.returncode), ('whole\n', 0), done.stderr)

    def test_runs_of_pages(self):
        gap = snapshot.MAX_GAP
        self.assertEqual(snapshot.runs_of([0, 1, 2, 2 + gap]), [[0, 3 + gap]])
        self.assertEqual(snapshot.runs_of([5, 6, 8 + gap]), [[5, 7], [8 + gap, 9 + gap]])
