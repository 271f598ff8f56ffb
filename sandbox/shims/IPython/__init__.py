"""Stands in for IPython in a run: what code written for notebooks imports from it."""
from .display import display  # noqa: F401

version_info = (8, 30, 0, '')
__version__ = '8.30.0'


def get_ipython():
    """There is no interactive shell."""
    return None
