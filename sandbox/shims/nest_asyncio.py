"""Code for notebooks calls nest_asyncio.apply() so that asyncio.run() works in a cell; in a run it works anyway."""


def apply(loop=None):
    """Nothing to do."""
