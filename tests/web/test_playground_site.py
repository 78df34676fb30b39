"""The playground as a static site: its page asks no server, and its archive holds the parser."""

from __future__ import annotations

import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "playground"))
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import yaml
assert yaml.__file__.startswith(sys.argv[1]), yaml.__file__
yaml.CSafeLoader = yaml.SafeLoader
from callblocks.views.text.parsed_text import parse_text
from callblocks.views.text.rewrite import rewrite
assert rewrite.__code__.co_filename.startswith(sys.argv[1])
text = "```tool ls c1\\ninput:\\n  path: src\\n```\\n"
print(parse_text(text, model="qwen3", tools=[{"name": "ls"}]).calls)
print(rewrite(text, "auto", "emoji-bracket").text[:6])
"""


def test_the_archive_holds_all_that_reading_and_writing_import(tmp_path: Path) -> None:
    SCRIPT["write_packages"](tmp_path / "packages.zip", None)
    with zipfile.ZipFile(tmp_path / "packages.zip") as archive:
        archive.extractall(tmp_path / "packages")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "packages")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n🛠️[ls \n", done.stderr


def test_the_page_has_no_address_of_a_server_and_a_policy_of_its_own() -> None:
    html = SCRIPT["page_html"]((ROOT / "web" / "playground.html").read_text("utf-8"))
    assert 'src="/' not in html
    assert 'href="/' not in html
    assert 'data-reader="browser"' in html
    assert "'wasm-unsafe-eval'" in html
    assert 'id="side"' not in html
    assert 'popovertarget="side"' not in html
    assert "Python is started in this browser" in html
