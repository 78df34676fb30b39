"""The example report, written by the command as every kind, opens in programs of others."""

from __future__ import annotations

import subprocess
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from pypdf import PdfReader

from callblocks.timeline.log.open_store import open_store
from support.command import run
from support.command_home import move_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "report.md"
KINDS = ("pdf", "docx", "pptx", "xlsx", "png")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example ran, once, with what it needs allowed."""
    folder = tmp_path_factory.mktemp("documents")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("CALLBLOCKS_STORE", raising=False)
        move_in(folder, patch)
        allowed = ("--allow", "file_write", "--allow", "rendering_tools.*")
        result = run("run", str(EXAMPLE), *allowed, "--timeline", "winter")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture(scope="module")
def files(home: Path) -> Path:
    (found,) = (home / "state").rglob("turn_1/files")
    return found


def test_the_report_is_there_as_every_kind_and_what_it_shows(home: Path, files: Path) -> None:
    assert sorted(path.name for path in files.iterdir()) == sorted(f"report.{k}" for k in KINDS)
    with open_store(home / "state" / "timelines.sqlite") as store:
        blocks = [entry.block for entry in store.entries("winter")]
    assert not [block for block in blocks if block.type == "react.notice"]
    shown = {block.path: block for block in blocks if block.path.startswith("fi:turn_1.files/")}
    assert {path: bool(block.base64) for path, block in shown.items()} == {
        "fi:turn_1.files/report.pdf": True,
        "fi:turn_1.files/report.png": True,
    }


def test_a_pdf_opens_in_two_readers(files: Path, tmp_path: Path) -> None:
    opened = PdfReader(files / "report.pdf")
    assert opened.metadata is not None
    assert (opened.metadata.title, opened.metadata.author) == (
        "The ferry in winter",
        "The harbour office",
    )
    assert "November 30 11,482" in " ".join(opened.pages[0].extract_text().split())
    page = tmp_path / "page"
    command = ["pdftoppm", "-r", "20", "-png", str(files / "report.pdf"), str(page)]
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""
    assert len(list(tmp_path.glob("page-*.png"))) == len(opened.pages)


def test_the_others_open_in_their_libraries(files: Path) -> None:
    letter = docx.Document(str(files / "report.docx"))
    assert letter.paragraphs[0].text == "The ferry in winter"
    assert len(letter.inline_shapes) == 1
    deck = pptx.Presentation(str(files / "report.pptx"))
    titles = [slide.shapes.title.text for slide in deck.slides if slide.shapes.title]
    assert titles[0] == "The ferry in winter"
    assert "Passengers" in titles
    book = openpyxl.load_workbook(files / "report.xlsx")
    assert book["Passengers"]["C2"].value == 11_482


def test_an_office_program_opens_them(files: Path, tmp_path: Path) -> None:
    """All in one start: it is the start that takes long."""
    for kind in ("docx", "pptx", "xlsx"):
        (tmp_path / f"{kind}.{kind}").write_bytes((files / f"report.{kind}").read_bytes())
    given = [str(path) for path in sorted(tmp_path.iterdir())]
    home = f"-env:UserInstallation={(tmp_path / 'home').as_uri()}"
    command = ["soffice", "--headless", home, "--convert-to", "pdf", "--outdir", str(tmp_path)]
    subprocess.run([*command, *given], capture_output=True, check=True)
    words = {kind: words_of(tmp_path / f"{kind}.pdf") for kind in ("docx", "pptx", "xlsx")}
    for kind, text in words.items():
        assert "11,482" in text, kind
        assert "February" in text, kind
    assert "Replace the starboard mooring rope" in words["docx"]
    assert "Replace the starboard mooring rope" in words["pptx"]


def words_of(pdf: Path) -> str:
    return " ".join("\n".join(page.extract_text() for page in PdfReader(pdf).pages).split())
