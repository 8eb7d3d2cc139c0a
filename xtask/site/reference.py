"""Writes the reference of the Python package into a directory, from its docstrings and stubs."""

import pathlib
import sys

import pdoc

import dzoa

# The estimators are loaded when they are first asked for; pdoc looks without asking.
for name in dzoa.__all__:
    setattr(dzoa, name, getattr(dzoa, name))

pdoc.render.configure(docformat="markdown")
pdoc.pdoc("dzoa", output_directory=pathlib.Path(sys.argv[1]))
