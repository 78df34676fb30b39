"""Extras: the table is that of pyproject.toml, and what is missing is named in one line."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from callblocks.cli.main import EXTRAS as OF_COMMANDS
from callblocks.core import extras
from callblocks.core.errors import CallerError
from callblocks.core.extras import EXTRAS, MissingExtra, fault_of, needing, packages_of, require
from support.command import run

ROOT = Path(__file__).parents[3]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]
OTHERS = {"all", "dev", "fuzz", "llm", "site"}
# What a command needs to be begun at all.
ARGUMENTS = {"chats": ["list"], "workspace": ["show"], "workspace connect": [__file__]}
each_extra = pytest.mark.parametrize("extra", EXTRAS)


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    fault_of.cache_clear()


def _without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Let a distribution be missing, as the machine sees it."""
    known = extras._version
    monkeypatch.setattr(extras, "_version", lambda name: None if name == package else known(name))
    fault_of.cache_clear()


def _of_version(monkeypatch: pytest.MonkeyPatch, package: str, version: str) -> None:
    known = extras._version
    monkeypatch.setattr(
        extras, "_version", lambda name: version if name == package else known(name)
    )
    fault_of.cache_clear()


@each_extra
def test_the_table_is_that_of_the_project(extra: str) -> None:
    includes, packages = list[str](), dict[str, str]()
    for requirement in DECLARED[extra]:
        bare = requirement.partition(";")[0].strip()
        name, oldest = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?(?:[>=]=(\S+))?", bare).groups()  # pyright: ignore[reportOptionalMemberAccess]
        if name == "callblocks":
            includes += re.findall(r"[\[,](\w+)", bare)
        else:
            packages[name] = oldest or ""
    assert (tuple(includes), packages) == (EXTRAS[extra].includes, EXTRAS[extra].packages)


def test_all_is_every_extra_of_a_user() -> None:
    assert DECLARED["all"] == [f"callblocks[{','.join(sorted(EXTRAS))}]"]
    assert set(DECLARED) == {*EXTRAS, *OTHERS}


@each_extra
def test_an_extra_that_is_here_is_fine(extra: str) -> None:
    assert fault_of(extra) == ""
    with needing(extra, "a test"):
        pass


@each_extra
def test_each_missing_package_names_the_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in packages_of(extra):
        with monkeypatch.context() as patch:
            _without(patch, package)
            with pytest.raises(MissingExtra) as raised:
                require(extra, "a test")
            assert isinstance(raised.value, ImportError)
            assert isinstance(raised.value, CallerError)
            assert str(raised.value) == (
                f"a test needs packages that are not installed ({package}): "
                f"pip install 'callblocks[{extra}]'"
            )


@each_extra
def test_each_package_that_is_too_old_names_the_extra(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package, oldest in packages_of(extra).items():
        if not oldest:
            continue
        with monkeypatch.context() as patch:
            _of_version(patch, package, "0.0.1rc1")
            with pytest.raises(MissingExtra) as raised:
                require(extra, "a test")
            assert str(raised.value) == (
                f"a test needs {package} {oldest} or newer, and 0.0.1rc1 is installed: "
                f"pip install 'callblocks[{extra}]'"
            )


def test_many_missing_packages_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_version", lambda name: None)
    fault_of.cache_clear()
    assert re.search(r"\(\S+, \S+, \S+ and 1 more\)$", fault_of("run"))


@each_extra
def test_an_import_that_fails_inside_names_the_extra(extra: str) -> None:
    with pytest.raises(MissingExtra) as raised, needing(extra, "a test"):
        raise ImportError("cannot import name 'x'\nfrom 'rich'", name="rich.text")
    assert str(raised.value) == (
        "a test needs rich, which cannot be imported (cannot import name 'x' from 'rich'): "
        f"pip install 'callblocks[{extra}]' --force-reinstall"
    )


@pytest.mark.parametrize(
    ("module", "extra"),
    [("httpx2", "chat"), ("pydantic", "run"), ("docx", "documents"), ("psycopg", "postgres")],
)
def test_a_package_tells_its_extra_where_none_is_named(module: str, extra: str) -> None:
    with pytest.raises(MissingExtra, match=rf"callblocks\[{extra}\]"), needing("", "a test"):
        raise ModuleNotFoundError(f"No module named {module!r}", name=module)


def test_a_package_of_no_extra_is_named_and_callblocks_is_to_be_installed() -> None:
    with pytest.raises(MissingExtra, match=r"pip install callblocks$"), needing("", "a test"):
        raise ModuleNotFoundError("No module named 'nowhere_x'", name="nowhere_x")
    with pytest.raises(MissingExtra, match="needs a package, "), needing("", "a test"):
        raise ImportError("odd")


def test_a_missing_module_of_ours_and_a_message_of_ours_stay_as_they_are() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"^ours$") as raised, needing("run", "a test"):
        raise ModuleNotFoundError("ours", name="callblocks.nothing")
    assert not isinstance(raised.value, MissingExtra)
    with pytest.raises(MissingExtra, match=r"^inner$"), needing("run", "a test"):
        raise MissingExtra("web", "inner")


def test_metadata_without_its_package_and_a_package_without_metadata_count_as_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = extras._version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "1.0")
    assert version("no-such-package") is None
    monkeypatch.undo()
    assert version("json") is None
    monkeypatch.setitem(sys.modules, "odd_package", None)
    assert version("odd-package") is None


def test_what_a_system_does_not_need_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "uvloop" in packages_of("server")
    monkeypatch.setattr(sys, "platform", "win32")
    assert "uvloop" not in packages_of("server")


@pytest.mark.parametrize(("path", "extra"), OF_COMMANDS.items())
def test_a_command_that_lacks_a_package_says_so_in_one_line(
    path: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = next(iter(packages_of(extra)))
    _without(monkeypatch, package)
    result = run(*path.split(), *ARGUMENTS.get(path, ()), text="")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"callblocks: callblocks {_whole(path)} needs packages that are not installed "
        f"({package}): pip install 'callblocks[{extra}]'\n"
    )


# What a group does where no command of it is named.
_ALONE = {"chats": "list", "workspace": "show", "mcp": "list"}


def _whole(path: str) -> str:
    return f"{path} {_ALONE[path]}" if path in _ALONE else path


def test_a_public_name_that_lacks_its_extra_is_an_import_error() -> None:
    program = (
        "import sys\n"
        "sys.modules['pydantic'] = None\n"
        "import callblocks\n"
        "try: callblocks.tool\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("callblocks.tool needs ")
    assert "pip install 'callblocks[run]'" in done.stdout
    assert done.stderr == ""


def test_a_package_that_was_made_by_hand_counts_as_there_and_broken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "odd_package", ModuleType("odd_package"))
    with pytest.raises(MissingExtra, match="--force-reinstall"), needing("", "a test"):
        raise ImportError("halted", name="odd_package")
