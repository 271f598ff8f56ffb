"""The tables of properties that install.py wrote give the very docstrings that matplotlib would have written."""
import json
import subprocess

from support import PYTHON, SANDBOX, needs_python, unittest

# Every docstring of every class and function that matplotlib's modules hold, with the tables or without them.
DOCSTRINGS = '''
import importlib, inspect, json, sys
sys.path.insert(0, sys.argv[1])
from moli_sandbox import property_tables
if sys.argv[2] == "without":
    property_tables.read = lambda: {}
searched = 0
with property_tables.remembered():
    artist = importlib.import_module("matplotlib.artist")
    search = artist.ArtistInspector.pprint_setters
    def counted(*arguments, **options):
        global searched
        searched += 1
        return search(*arguments, **options)
    artist.ArtistInspector.pprint_setters = counted
    import matplotlib.pyplot
    artist.ArtistInspector.pprint_setters = search
found = {}
for module in [one for name, one in sys.modules.items() if name.split(".")[0] in ("matplotlib", "mpl_toolkits")]:
    for name, value in vars(module).items():
        if inspect.isroutine(value) or inspect.isclass(value):
            found[f"{module.__name__}.{name}"] = value.__doc__
        if inspect.isclass(value):
            found.update({f"{module.__name__}.{name}.{part}": getattr(inner, "__doc__", None) for part, inner in vars(value).items()})
class Mine(matplotlib.patches.Patch):
    def set_mine(self, value):
        """
        Parameters
        ----------
        value : my own
        """
print(json.dumps({"found": found, "searched": searched, "mine": Mine.set.__doc__, "own": artist.kwdoc.__module__}))
'''


@needs_python
class PropertyTables(unittest.TestCase):
    def docstrings(self, how):
        done = subprocess.run([PYTHON, '-I', '-c', DOCSTRINGS, SANDBOX, how], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def test_the_docstrings_are_the_same_and_little_is_searched(self):
        with_tables, without = self.docstrings('with'), self.docstrings('without')
        self.assertGreater(len(with_tables['found']), 1000)
        self.assertEqual(with_tables['found'], without['found'])
        self.assertLess(with_tables['searched'] * 5, without['searched'])

    def test_a_class_that_is_not_in_the_file_is_searched(self):
        mine = self.docstrings('with')
        self.assertIn('my own', mine['mine'])
        self.assertEqual(mine['own'], 'matplotlib.artist')
