"""Input files and what a run leaves behind: what is an artifact, what is skipped and why."""
import hashlib

from support import BoxCase, unittest

MIB = 1 << 20


class Files(BoxCase):
    def skipped(self, result):
        return {item['name']: item['reason'] for item in result.end['skipped']}

    def names(self, result):
        return [artifact['name'] for artifact in result.artifacts]

    def test_inputs_in_folders_and_with_every_name(self):
        files = {'a b.csv': b'1', '数据/明细.csv': b'2', '数据/深/x.txt': b'', 'naïve🙂.txt': b'4'}
        result = self.run_code('import os\nfor f, _, names in sorted(os.walk(".")):\n  for n in sorted(names): print(os.path.join(f, n), os.path.getsize(os.path.join(f, n)))', files)
        self.assert_ok(result)
        self.assertEqual(len(result.text.splitlines()), 4)
        self.assertEqual(self.names(result), [])

    def test_inputs_over_many_frames(self):
        data = {f'f{i}': bytes([i]) * (300_000 * i + 1) for i in range(8)}
        result = self.run_code('import hashlib, os\nfor n in sorted(os.listdir(".")): print(n, hashlib.sha256(open(n, "rb").read()).hexdigest())', data)
        self.assertEqual(result.text.split(), [word for name in sorted(data) for word in (name, hashlib.sha256(data[name]).hexdigest())])

    def test_unsafe_inputs_are_refused(self):
        for name in ('../x', '/etc/x', 'a/../b', 'a\nb', 'x\u202ecsv', 'é' * 200, '', 'a//b', '.'):
            with self.subTest(name):
                result = self.run_code('print(1)', {name: b''})
                self.assertEqual(result.verdict, 'platform_error')
                self.assertEqual(result.stdout, b'')

    def test_changed_input_is_an_artifact_and_an_unchanged_one_is_not(self):
        files = {'same.csv': b'a,b\n1,2\n', 'touched.csv': b'x', 'changed.csv': b'old', 'removed.csv': b'r'}
        result = self.run_code('import os\nopen("touched.csv", "w").write("x"); os.utime("same.csv")\nopen("changed.csv", "w").write("new"); os.remove("removed.csv")\nopen("made.txt", "w").write("m");', files)
        self.assert_ok(result)
        self.assertEqual(self.names(result), ['changed.csv', 'made.txt'])
        self.assertEqual(result.artifact('changed.csv')['content'], b'new')

    def test_artifacts_in_order_of_writing_with_hash_and_type(self):
        result = self.run_code('import time\nfor n in ("z.csv", "a.json", "m.md", "t.xlsx", "s.html", "noext"):\n  open(n, "w").write(n); time.sleep(0.02)')
        self.assertEqual(self.names(result), ['z.csv', 'a.json', 'm.md', 't.xlsx', 's.html', 'noext'])
        self.assertEqual([a['mimeType'] for a in result.artifacts][:3], ['text/csv', 'application/json', 'text/markdown'])
        for artifact in result.artifacts:
            self.assertEqual(artifact['sha256'], hashlib.sha256(artifact['content']).hexdigest())
            self.assertEqual(artifact['bytes'], len(artifact['content']))

    def test_a_text_named_png_is_not_an_image(self):
        result = self.run_code('open("x.png", "w").write("<script>")')
        self.assertEqual(result.artifacts[0]['mimeType'], 'application/octet-stream')

    def test_links_and_special_files_are_skipped(self):
        result = self.run_code(
            'import os, socket\n'
            'os.symlink("/etc/passwd", "passwd"); os.symlink("/proc/self/environ", "environ"); os.symlink("/usr", "folder"); os.symlink("real", "inner"); os.symlink("loop", "loop")\n'
            'open("real", "w").write("r"); os.link("input", "hard");', {'input': b'secret'})
        self.assert_ok(result)
        self.assertEqual(self.names(result), ['real'])
        skipped = self.skipped(result)
        self.assertEqual([skipped.get(name) for name in ('passwd', 'environ', 'folder', 'inner', 'loop')], ['symlink'] * 5)
        self.assertEqual(skipped['hard'], 'hard link to an input')

    def test_hard_links_to_system_files_are_refused(self):
        result = self.run_code('import os\ntry: os.link("/etc/passwd", "x")\nexcept OSError as e: print("no")')
        self.assertEqual((result.text, self.names(result)), ('no\n', []))

    def test_links_swapped_while_it_ends(self):
        result = self.run_code(
            'import os, threading\n'
            'def swap():\n  while True:\n    open("x", "w").write("mine"); os.remove("x"); os.symlink("/etc/passwd", "x"); os.remove("x")\n'
            'threading.Thread(target=swap).start()\nimport time; time.sleep(0.1)')
        self.assert_ok(result)
        for artifact in result.artifacts:
            self.assertIn(artifact['content'], (b'mine', b''))

    def test_a_sparse_terabyte_is_too_large(self):
        result = self.run_code('import os\nopen("big", "w").truncate(1 << 40)\nopen("small", "w").write("s");')
        self.assert_ok(result)
        self.assertEqual(self.names(result), ['small'])
        self.assertIn('too large: 1099511627776 bytes', self.skipped(result)['big'])

    def test_bounds_on_all_files_together(self):
        result = self.run_code('for i in range(5): open(f"f{i}", "w").write("x" * 400)', limits={'artifactBytes': 1000, 'artifactCount': 10})
        self.assertEqual(self.names(result), ['f0', 'f1'])
        self.assertEqual(len(result.end['skipped']), 3)
        result = self.run_code('for i in range(5): open(f"f{i}", "w").write("x")', limits={'artifactCount': 2})
        self.assertEqual((len(result.artifacts), len(result.end['skipped'])), (2, 3))

    def test_depth_and_number_are_bounded(self):
        result = self.run_code(
            'import os\nfor i in range(1000):\n  os.mkdir("d"); os.chdir("d")\nopen("deep", "w").close()\nos.chdir("/workspace")\nfor i in range(15_000): open(f"n{i}", "w").close()',
            limits={'artifactCount': 5})
        self.assert_ok(result)
        self.assertLessEqual(len(result.artifacts), 5)
        self.assertLessEqual(len(result.end['skipped']), 60)

    def test_dangerous_names_are_skipped_and_named_safely(self):
        result = self.run_code(
            'import os\nfor n in (b"line\\nbreak", b"\\xff\\xfe", "rtl\\u202egnp".encode(), b"tab\\t", ("n" * 255).encode(), b"back\\\\slash", b" lead", b"fine"):\n  open(n, "w").write("x")')
        self.assert_ok(result)
        self.assertEqual(set(self.names(result)), {'n' * 255, 'back\\slash', ' lead', 'fine'})
        for name in self.skipped(result):
            self.assertTrue(name.isprintable())
        self.assertEqual(len(result.end['skipped']), 4)

    def test_unreadable_files_and_folders(self):
        result = self.run_code('import os\nopen("a", "w").write("x"); os.chmod("a", 0)\nos.mkdir("d"); open("d/b", "w").write("x"); os.chmod("d", 0)\nopen("c", "w").write("c");')
        self.assert_ok(result)
        self.assertIn('c', self.names(result))

    def test_folders_closed_to_everyone(self):
        for mode in (0, 0o100, 0o200, 0o400):
            result = self.run_code(f'import os\nopen("a.txt", "w").write("x"); os.mkdir("d"); open("d/b.txt", "w").write("y"); os.chmod("d", 0o400); os.chmod("/workspace", {mode});')
            self.assert_ok(result)
            self.assertEqual(sorted(self.names(result)), ['a.txt', 'd/b.txt'])

    def test_files_that_were_not_closed_are_whole(self):
        result = self.run_code('f = open("open.txt", "w"); f.write("x" * 100)\nimport gzip, zipfile\ng = gzip.open("g.gz", "wt"); g.write("text")\nz = zipfile.ZipFile("z.zip", "w"); z.writestr("a", "b");')
        self.assert_ok(result)
        self.assertEqual(result.artifact('open.txt')['content'], b'x' * 100)
        import gzip
        import io
        import zipfile

        self.assertEqual(gzip.decompress(result.artifact('g.gz')['content']), b'text')
        self.assertEqual(zipfile.ZipFile(io.BytesIO(result.artifact('z.zip')['content'])).read('a'), b'b')

    def test_files_of_a_run_that_was_ended_are_kept(self):
        result = self.run_code('open("part.csv", "w").write("a")\nwhile True: pass', limits={'wallSeconds': 1})
        self.assertEqual((result.verdict, self.names(result)), ('timeout_wall', ['part.csv']))

    def test_folders_of_tools_are_left_out(self):
        result = self.run_code('import helper, os\nos.makedirs("__pycache__", exist_ok=True); open("__pycache__/x.pyc", "w").write("x"); os.makedirs(".cache"); open(".cache/y", "w").write("y");', {'helper.py': b'x = 1'})
        self.assertEqual(self.names(result), [])


if __name__ == '__main__':
    unittest.main()
