"""Tests of the sandbox: `/usr/bin/python3 -m unittest discover -s sandbox/tests`."""
