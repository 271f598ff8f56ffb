"""Older home of what is in IPython.display."""
from ..display import *  # noqa: F401,F403
from ..display import display  # noqa: F401
