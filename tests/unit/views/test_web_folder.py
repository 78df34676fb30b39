from __future__ import annotations

import zipfile

import pytest

from callblocks.core.errors import CallblocksError
from callblocks.views.html import page_markdown as module
from callblocks.views.html.page_markdown import web_folder


def test_the_folder_has_the_styles() -> None:
    assert {one.name for one in (web_folder() / "css").iterdir()} >= {"tokens.css", "blocks.css"}


def test_a_wheel_has_it_as_an_archive(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    package = tmp_path / "callblocks"
    package.mkdir()
    with zipfile.ZipFile(package / "web.zip", "w") as archive:
        archive.writestr("css/tokens.css", "tokens")
    monkeypatch.setattr(module, "__file__", str(package / "views" / "html" / "x.py"))
    assert (web_folder.__wrapped__() / "css" / "tokens.css").read_text("utf-8") == "tokens"


def test_a_package_without_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(
        module, "__file__", str(tmp_path / "a" / "callblocks" / "views" / "html" / "x.py")
    )
    with pytest.raises(CallblocksError, match="install callblocks again"):
        web_folder.__wrapped__()
