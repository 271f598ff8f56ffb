"""The conversation with a runner: cancel, closing early, bad jobs, forged messages."""
import json
import socket
import time

from moli_sandbox import wire
from support import PATIENCE, BoxCase, unittest, until


class Protocol(BoxCase):
    def assert_serves(self):
        self.assertEqual(self.run_code('print("next")').text, 'next\n')

    def test_frames_in_order(self):
        result = self.run_code('print(1)\nopen("a", "w").write("x");')
        self.assertEqual(result.order, ['S', 'O', 'A', 'Q', 'R'])
        self.assertEqual(set(result.end), {'verdict', 'exitCode', 'signal', 'error', 'truncated', 'total', 'skipped', 'usage', 'timings', 'strength'})
        self.assertEqual(set(result.end['usage']), {'wallMs', 'cpuMs', 'maxMemoryBytes', 'outputBytes'})
        self.assertEqual(set(result.end['timings']), {'stageMs', 'runMs', 'collectMs'})

    def test_output_comes_while_it_runs(self):
        connection = self.box.open('import time\nprint("first")\ntime.sleep(30)', limits={'wallSeconds': 60})
        connection.read_until(lambda result: result.stdout == b'first\n')
        connection.send('C')
        result = connection.finish()
        self.assertEqual(result.verdict, 'cancelled')
        self.assertLess(result.milliseconds, 20_000)
        self.assertTrue(result.error['explanation']['zh'])

    def test_display_comes_after_what_was_printed_before(self):
        result = self.run_code('print("before")\ndisplay(1)\nprint("after")')
        self.assertEqual(result.order, ['S', 'O', 'P', 'O', 'R'])

    def test_closing_cancels(self):
        connection = self.box.open('import time\nprint("x")\ntime.sleep(60)', limits={'wallSeconds': 60})
        connection.read_until(lambda result: result.stdout)
        connection.socket.close()
        started = time.monotonic()
        self.assert_serves()
        self.assertLess(time.monotonic() - started, 30)

    def test_closing_in_the_middle_of_an_input(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.box.path)
        connection.sendall(wire.json_frame('J', {'code': '1', 'files': [{'name': 'a', 'bytes': 1000}]}) + wire.frame('D', b'x' * 10))
        connection.close()
        self.assert_serves()

    def test_bad_jobs_are_refused_with_a_result(self):
        for job in ({}, {'code': 1}, [], {'code': '1', 'limits': {'wallSeconds': -1}}, {'code': '1', 'limits': {'memoryBytes': 'x'}}, {'code': '1', 'files': [{'name': 'a', 'bytes': 0}, {'name': 'a', 'bytes': 0}]}, {'code': '1', 'files': [{'name': 'a'}]}, {'code': '1', 'filename': '../x'}, {'code': '1', 'argv': [1]}):
            with self.subTest(job):
                self.assertEqual(self.answer(wire.frame('J', json.dumps(job).encode()))['verdict'], 'platform_error')
        self.assertEqual(self.answer(wire.frame('J', b'{nonsense'))['verdict'], 'platform_error')
        self.assertEqual(self.answer(wire.frame('J', b'[' * 100_000))['verdict'], 'platform_error')

    def answer(self, data):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(self.box.path)
            connection.sendall(data)
            received = b''
            while chunk := connection.recv(65536):
                received += chunk
        reader = wire.FrameReader()
        reader.feed(received)
        kind, payload = reader.take()
        self.assertEqual(kind, 'R')
        return json.loads(payload)

    def test_nonsense_on_the_socket(self):
        for data in (b'GET / HTTP/1.1\r\n\r\n', b'\0' * 100, wire.frame('D', b'x'), wire.frame('X'), b'\xff' * 64):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(PATIENCE)
                connection.connect(self.box.path)
                connection.sendall(data)
                try:
                    self.assertEqual(connection.recv(65536), b'')
                except ConnectionResetError:
                    pass
        self.assert_serves()

    def test_arguments_and_file_name(self):
        result = self.run_code('import sys\nprint(sys.argv, __file__)\n1/0', filename='分析.py', argv=['a', 'b'])
        self.assertEqual(result.text, "['分析.py', 'a', 'b'] /workspace/分析.py\n")
        self.assertIn('分析.py', result.error['traceback'])

    def test_forged_results_speak_for_their_own_run_only(self):
        forged = [
            'import os\nos.write(3, b"R" * 1000)\nprint("after")',
            'import os\nos.write(3, os.urandom(100_000))\nprint("after")',
            'import os\nfor fd in range(3, 256):\n  try: os.write(fd, b\'{"verdict":"ok"}\\n\')\n  except OSError: pass\nprint("after")',
            'import os\nos.close(3)\nprint("after")',
            'print(\'{"verdict":"ok","exitCode":0}\')\nprint("after")',
        ]
        for code in forged:
            with self.subTest(code):
                result = self.run_code(code)
                self.assertEqual(result.verdict, 'ok', result.end)
                self.assertIn('after', result.text)

    def test_nonsense_without_an_end_is_not_read_on(self):
        result = self.run_code('import os\nsent = 0\ntry:\n  while True: sent += os.write(3, b"x" * 65536)\nexcept BrokenPipeError: print(sent < 1 << 22)', limits={'wallSeconds': 20})
        self.assertEqual((result.verdict, result.text), ('ok', 'True\n'))

    def test_messages_of_no_kind_without_an_end_are_not_read_on(self):
        result = self.run_code(
            'import os, struct\nword = display.__self__.sender.nonce + struct.pack("<cII", b"Z", 65536, 0) + b"x" * 65536\nsent = 0\n'
            'try:\n  while True: sent += os.write(3, word)\nexcept BrokenPipeError: print(sent < 1 << 22)', limits={'wallSeconds': 20})
        self.assertEqual((result.verdict, result.text), ('ok', 'True\n'))

    def test_forged_result_does_not_hide_how_the_kernel_ended_it(self):
        result = self.run_code('import os\nos.write(3, b"x" * 50)\nos.kill(os.getpid(), 11)\nimport ctypes; ctypes.string_at(0)')
        self.assertEqual((result.verdict, result.end['signal']), ('signalled', 'SIGSEGV'))
        result = self.run_code('import os\nos.write(3, b"x" * 50)\n1/0')
        self.assertEqual((result.verdict, result.end['exitCode']), ('user_error', 1))

    def test_a_second_result_is_not_taken(self):
        result = self.run_code(
            'import gc\nfrom moli_sandbox.channel import Sender\n'
            'sender = next(o for o in gc.get_objects() if isinstance(o, Sender))\n'
            'sender.send("R", {"exitCode": 0, "error": None, "saved": {"a": 1}, "verdict": "platform_error", "strength": "forged"})\n'
            'sender.send("R", {"exitCode": 9, "error": {"name": "x"}})\n'
            'while True: pass', limits={'wallSeconds': 20})
        self.assertEqual((result.verdict, result.end['exitCode']), ('ok', 0))
        self.assertNotEqual(result.end['strength'], 'forged')

    def test_hostile_messages_from_the_program(self):
        result = self.run_code(
            'import gc, struct, os\nfrom moli_sandbox import channel\n'
            'sender = next(o for o in gc.get_objects() if isinstance(o, channel.Sender))\n'
            'def raw(kind, body): os.write(3, channel.HEADER.pack(sender.nonce, kind, len(body), 0) + body); kind == b"P" and os.read(3, 1)\n'
            'for body in (b"{", b"[]", b"1", b"[" * 60000, b\'{"mimeType": 5}\', b\'{"mimeType": "a", "width": "x", "table": []}\', b\'{"mimeType": "text/plain", "text": NaN}\', b"\\xff\\xfe"): raw(b"P", body)\n'
            'raw(b"R", b\'{"exitCode": "x", "error": {"name": 5, "line": "a", "explanation": 7}, "kind": []}\')')
        self.assertEqual(result.verdict, 'user_error')
        self.assertEqual(result.error, {'name': '', 'message': '', 'traceback': '', 'line': None, 'explanation': {'zh': '', 'en': ''}})

    def test_displays_that_are_not_as_agreed(self):
        """What is left of them is what a runner was promised: it must not give up on a run for what a program says."""
        result = self.run_code(
            'import gc, os, json\nfrom moli_sandbox import channel\n'
            'sender = next(o for o in gc.get_objects() if isinstance(o, channel.Sender))\n'
            'def raw(text, data=b""):\n  os.write(3, channel.HEADER.pack(sender.nonce, b"P", len(text), len(data)) + text + data)\n  os.read(3, 1)\n'
            'for kind in ("", "html", "text/html\\r\\nset-cookie: a=b", "x/" + "y" * 900, "\\ud800/x", "a/b; c"): raw(json.dumps({"mimeType": kind, "text": "t"}).encode(), b"x")\n'
            'for name in ("../../up", "a/b", "a\\r\\nb", "", "n" * 900, "\\u202e", "\\ud800"): raw(json.dumps({"mimeType": "text/html", "name": name}).encode(), b"x")\n'
            'raw(json.dumps({"mimeType": "image/png", "width": -5, "height": 10**30}).encode(), b"x")\n'
            'raw(json.dumps({"mimeType": "image/png", "width": True, "height": 1.5}).encode(), b"x")\n'
            'columns = [{"name": "a", "type": "integer"}]\n'
            'for table in ({"columns": "x", "rows": [[{}]], "totalRows": "a"}, {"columns": columns, "rows": [[1, 2]], "totalRows": 1, "totalColumns": 1}, '
            '{"columns": columns, "rows": [[2**60]], "totalRows": 1, "totalColumns": 1}, {"columns": columns, "rows": [[{}]], "totalRows": 1, "totalColumns": 1}, '
            '{"columns": columns, "rows": [[1]], "totalRows": 1.5, "totalColumns": 10**400}, {"columns": [5], "rows": [[1]], "totalRows": 1, "totalColumns": 1}):\n'
            '  raw(json.dumps({"mimeType": "text/plain", "text": "t", "table": table}).encode())\n')
        self.assert_ok(result)
        self.assertEqual(
            [{name: value for name, value in item.items() if name != 'content'} for item in result.displays],
            [{'mimeType': 'text/html', 'bytes': 1}] * 7 + [{'mimeType': 'image/png', 'bytes': 1}] * 2 + [{'mimeType': 'text/plain', 'text': 't'}] * 6)

    def test_many_displays_are_bounded(self):
        result = self.run_code('for i in range(300): display(i)')
        self.assert_ok(result)
        self.assertEqual(len(result.displays), 100)
        self.assertIn('100', result.end['skipped'][0]['reason'])
        result = self.run_code('from IPython.display import HTML\nfor i in range(5): display(HTML("x" * 1000))', limits={'displayBytes': 2700})
        self.assertEqual(len(result.displays), 2)

    def test_five_megabytes_of_code(self):
        result = self.run_code('x = 1\n' * 800_000 + 'print(x)', limits={'wallSeconds': 50, 'cpuSeconds': 50})
        self.assertIn(result.verdict, ('ok', 'memory_limit'))
        self.assert_serves()

    def test_runs_in_parallel_beyond_the_slots(self):
        connections = [self.box.open(f'import time; time.sleep(0.2); print({i})') for i in range(10)]
        self.assertEqual([connection.finish().text for connection in connections], [f'{i}\n' for i in range(10)])

    def test_a_slot_without_a_runner_is_not_held_for_ever(self):
        """Idle connections take slots; closing them gives the slots back."""
        idle = [socket.socket(socket.AF_UNIX) for _ in range(3)]
        for connection in idle:
            connection.connect(self.box.path)
        for connection in idle:
            connection.close()
        until(lambda: self.run_code('print("next")').text == 'next\n', 'a slot')


if __name__ == '__main__':
    unittest.main()
