from __future__ import annotations

import errno

import pytest

from callblocks.core.errors import ToolError
from callblocks.core.outcomes import FAILURES
from callblocks.guard.files.real_path import naming, wrong_type

CODES = {
    errno.ENOENT: ("path_not_found", "nothing is there"),
    errno.ENOTDIR: ("wrong_file_type", "not a folder"),
    errno.EISDIR: ("wrong_file_type", "it is a folder"),
    errno.ENXIO: ("wrong_file_type", "a socket"),
    errno.ENODEV: ("wrong_file_type", "a device"),
    errno.ELOOP: ("unsafe_path", "in circles"),
    errno.EXDEV: ("unsafe_path", "out of the workspace"),
    errno.ENAMETOOLONG: ("unsafe_path", "too long"),
    errno.EACCES: ("access_denied", "refused here"),
    errno.EPERM: ("access_denied", "refused here"),
    errno.EROFS: ("access_denied", "cannot be written"),
    errno.ENOSPC: ("disk_full", "nothing was written"),
    errno.EDQUOT: ("disk_full", "quota"),
    errno.EFBIG: ("file_too_large", "too large"),
    errno.EEXIST: ("path_exists", "already"),
    errno.ENOTEMPTY: ("file_error", "(Directory not empty)"),
    errno.EIO: ("file_error", "refused it (Input/output error)"),
    errno.EBADF: ("file_error", "refused it (Bad file descriptor)"),
}


@pytest.mark.parametrize(("number", "expected"), CODES.items())
def test_what_the_system_refuses_has_a_code_and_words(
    number: int, expected: tuple[str, str]
) -> None:
    code, words = expected
    fault = OSError(number, "secret words of the system", "/secret/place")
    with pytest.raises(ToolError) as raised, naming("a/b"):
        raise fault
    assert raised.value.code == code
    assert code in FAILURES
    assert words in raised.value.message
    assert "'a/b'" in raised.value.message
    assert "secret" not in raised.value.message
    assert raised.value.__cause__ is fault


def test_words_of_the_system_stand_only_where_there_are_none_of_ours() -> None:
    with pytest.raises(ToolError) as raised, naming("a"):
        raise OSError(errno.ENOENT, "x")
    assert raised.value.message == "'a': nothing is there; list the folder to see what is"


def test_an_error_without_a_number_is_a_file_error() -> None:
    with pytest.raises(ToolError) as raised, naming("a"):
        raise FileExistsError("no name is free")
    assert raised.value.code == "file_error"
    assert raised.value.message == "'a': the operating system refused it"


def test_a_name_that_the_machine_cannot_write_is_unsafe() -> None:
    with pytest.raises(ToolError) as raised, naming("é"):
        "é".encode("ascii")
    assert raised.value.code == "unsafe_path"
    assert "'é' is refused: this machine cannot write such a name" in raised.value.message


def test_a_refusal_passes_as_it_is() -> None:
    own = ToolError("own", "x")
    with pytest.raises(ToolError) as raised, naming("a"):
        raise own
    assert raised.value is own


def test_a_wrong_type_names_the_path() -> None:
    error = wrong_type("a", "it is a folder")
    assert (error.code, error.message) == ("wrong_file_type", "'a': it is a folder")
