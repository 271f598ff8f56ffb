"""When a zygote is replaced: decided from state and clock alone, so no box is needed."""
import time

from support import unittest

import init


class Stub:
    """A zygote as Generations sees it."""

    def __init__(self, level='full', age=0.0, used=False, worn=False):
        self.level, self.used, self.worn = level, used, worn
        self.started = time.monotonic() - age


class Due(unittest.TestCase):
    def generations(self, current, coming=None, preload='full'):
        generations = init.Generations({'preload': preload})
        generations.current, generations.coming = current, coming
        return generations

    def is_due(self, *arguments, **options):
        due = self.generations(*arguments, **options).due_at()
        return due is not None and due <= time.monotonic()

    def test_the_first_at_once(self):
        self.assertTrue(self.is_due(None))
        self.assertFalse(self.is_due(None, Stub()))

    def test_core_gives_way_to_full_soon(self):
        self.assertFalse(self.is_due(Stub('core')))
        self.assertTrue(self.is_due(Stub('core', age=init.CORE_SECONDS + 1)))
        self.assertFalse(self.is_due(Stub('core', age=init.CORE_SECONDS + 1), Stub()))
        self.assertFalse(self.is_due(Stub('core', age=100), preload='core'))

    def test_age_counts_only_after_a_run(self):
        self.assertFalse(self.is_due(Stub(age=init.GENERATION_SECONDS + 1)))
        self.assertFalse(self.is_due(Stub(age=init.GENERATION_SECONDS - 60, used=True)))
        self.assertTrue(self.is_due(Stub(age=init.GENERATION_SECONDS + 1, used=True)))

    def test_worn(self):
        self.assertTrue(self.is_due(Stub(used=True, worn=True)))

    def test_failures_wait(self):
        generations = self.generations(None)
        generations.retry_at = time.monotonic() + 10
        self.assertGreater(generations.wait_seconds(), 9)


if __name__ == '__main__':
    unittest.main()
