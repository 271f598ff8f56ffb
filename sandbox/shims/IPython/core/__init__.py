"""Modules of IPython.core that older code imports."""
