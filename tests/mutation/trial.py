"""One mutant put to the tests, in a process of its own.

The process is forked from one that has imported the test runner but nothing of callblocks, so
that the changed module is the one that every test imports.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import importlib.util
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Literal, TypeAlias

import pytest

__all__ = ("Verdict", "start")

Verdict: TypeAlias = Literal["killed", "survived", "timeout"]
SURVIVED = 0
SECONDS = 120
# The library was imported before the fork: its own assertions are not rewritten.
_QUIET = "ignore::pytest.PytestAssertRewriteWarning"
_OPTIONS = ("-x", "-q", "-p", "no:cacheprovider", "-W", _QUIET, "--hypothesis-profile=mutate")


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, str(path), code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> Any:
        if fullname != self._name:
            return None
        loader = _Loader(fullname, self._path, self._code)
        return importlib.util.spec_from_file_location(fullname, self._path, loader=loader)


def start(name: str, path: Path, tree: ast.Module | None, tests: Sequence[Sequence[str]]) -> int:
    """Fork; the child tries one list of tests after the other. Returns its process id."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        signal.alarm(SECONDS)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if tree is not None:
            code = compile(tree, str(path), "exec", dont_inherit=True)
            sys.meta_path.insert(0, _Finder(name, path, code))
        for some in tests:
            if pytest.main([*_OPTIONS, *some]) != SURVIVED:
                os._exit(1)
        os._exit(SURVIVED)
    finally:
        os._exit(1)
