"""The compiled part; everything else is in pyproject.toml."""
import pathlib
import sys

from setuptools import setup

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
setup(cffi_modules=["build_native.py:ffibuilder"])
