"""The installer: idempotent, never half done, with a fallback. Building itself is replaced; the real thing is what the other tests run on."""
import contextlib
import io
import json
import os
import sys
import tempfile
from unittest import mock

from support import PYTHON, SANDBOX, SYSTEM_PYTHON, needs_python, unittest

import install


class Install(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.cache = folder.name
        self.built = []
        self.enterContext(contextlib.redirect_stderr(io.StringIO()))
        self.enterContext(mock.patch.object(install, 'build_wheels', self.builder('wheels')))
        self.enterContext(mock.patch.object(install, 'build_debian', self.builder('debian')))
        self.enterContext(mock.patch.object(install, 'prove', lambda folder: {'versions': {}, 'missing': {}}))
        self.enterContext(mock.patch.object(install, 'build_font_list', lambda folder: None))
        self.enterContext(mock.patch.object(install, 'build_property_tables', lambda folder: None))

    def builder(self, kind):
        def build(python, folder):
            self.built.append(kind)
            os.makedirs(f'{folder}/bin/__pycache__')
            for name in ('python', 'python3', 'pip', 'f2py'):
                open(f'{folder}/bin/{name}', 'w', encoding='ascii').close()

        return build

    def main(self, *arguments):
        """Exit status and the last line of stdout."""
        output = io.StringIO()
        with mock.patch.object(sys, 'argv', ['install.py', '--cache', self.cache, *arguments]), contextlib.redirect_stdout(output):
            status = install.main()
        return status, output.getvalue().splitlines()[-1:]

    def test_made_once(self):
        first = self.main()
        self.assertEqual(first[0], 0)
        self.assertRegex(first[1][0], rf'^{self.cache}/python-[0-9a-f]{{16}}/bin/python$')
        self.assertEqual(self.main(), first)
        self.assertEqual(self.built, ['wheels'])
        self.assertEqual(sorted(os.listdir(os.path.dirname(first[1][0]))), ['python', 'python3'])

    def test_an_interrupted_build_is_not_taken_and_is_cleared_away(self):
        os.makedirs(f'{self.cache}/.python-0123.99/bin')
        with mock.patch.object(install, 'prove', side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            self.main()
        self.assertEqual([name for name in os.listdir(self.cache) if 'python' in name], [])
        self.assertEqual(self.main()[0], 0)
        self.assertEqual(self.built, ['wheels', 'wheels'])

    def test_falls_back_to_debian_and_stays_there(self):
        with mock.patch.object(install, 'build_wheels', side_effect=install.InstallError('no network')):
            status, line = self.main()
            self.assertEqual((status, self.built), (0, ['debian']))
            self.assertEqual(self.main(), (0, line))
        with open(os.path.join(os.path.dirname(os.path.dirname(line[0])), 'moli.json'), encoding='utf-8') as file:
            self.assertEqual(json.load(file)['kind'], 'debian')

    def test_says_why_when_nothing_works(self):
        with mock.patch.object(install, 'build_wheels', side_effect=install.InstallError('a')), mock.patch.object(install, 'build_debian', side_effect=install.InstallError('b')):
            self.assertEqual(self.main(), (1, []))

    def test_the_key_follows_the_requirements(self):
        key = install.environment_key(SYSTEM_PYTHON, 'wheels')
        self.assertEqual(install.environment_key(SYSTEM_PYTHON, 'wheels'), key)
        self.assertNotEqual(install.environment_key(SYSTEM_PYTHON, 'debian'), key)
        with tempfile.NamedTemporaryFile('w') as file, mock.patch.object(install, 'REQUIREMENTS', file.name):
            self.assertNotEqual(install.environment_key(SYSTEM_PYTHON, 'wheels'), key)


class Requirements(unittest.TestCase):
    def test_every_package_is_pinned_with_hashes(self):
        with open(f'{SANDBOX}/requirements.txt', encoding='utf-8') as file:
            entries = file.read().replace('\\\n', ' ').splitlines()
        packages = [entry for entry in entries if entry and not entry.lstrip().startswith('#')]
        self.assertGreater(len(packages), 30)
        for entry in packages:
            self.assertRegex(entry, r'^[a-z0-9][a-z0-9._-]*==\S+ .*--hash=sha256:[0-9a-f]{64}')

    @needs_python
    def test_the_environment_has_what_is_pinned(self):
        import subprocess

        code = 'import importlib.metadata as m\nfor d in m.distributions(): print(d.metadata["Name"].lower().replace("_", "-"), d.version)'
        there = dict(line.split() for line in subprocess.run([PYTHON, '-I', '-c', code], capture_output=True, text=True, check=True).stdout.splitlines())
        if 'pip' not in there:
            self.skipTest('an environment over Debian\'s packages')
        with open(f'{SANDBOX}/requirements.txt', encoding='utf-8') as file:
            for line in file:
                if line[0].isalnum():
                    name, version = line.split()[0].split('==')
                    self.assertEqual(there.get(name), version)


if __name__ == '__main__':
    unittest.main()
