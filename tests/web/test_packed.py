"""Pages as they are packed: the static playground, and the archive of the wheel."""

from __future__ import annotations

import runpy
import subprocess
import sys
import zipfile
from pathlib import Path

from support.nodejs import PACKAGES, node

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


def test_a_module_in_the_wheel_is_the_same_program(tmp_path: Path) -> None:
    pack = runpy.run_path(str(ROOT / "scripts" / "pack_pages.py"))
    web = ROOT / "web"
    names = [one.relative_to(web) for one in web.rglob("*.js")]
    own = [name for name in names if pack["is_packed"](name) and name.parts[0] != "vendor"]
    for folder, read in (("as-it-is", Path.read_bytes), ("as-packed", pack["content_of"])):
        for name in own:
            target = tmp_path / folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            args = (web / name, name) if folder == "as-packed" else (web / name,)
            target.write_bytes(read(*args))
        # Without blanks and comments, as a packer writes them.
        options = ("--minify-whitespace", "--legal-comments=none", "--log-level=error")
        files = sorted((tmp_path / folder).rglob("*.js"))
        out = f"--outdir={tmp_path / folder}-out"
        node(PACKAGES / "esbuild" / "bin" / "esbuild", *files, *options, out)
    left, right = (
        sorted((tmp_path / f"{one}-out").rglob("*.js")) for one in ("as-it-is", "as-packed")
    )
    assert len(left) == len(own) > 100
    assert [one.read_bytes() for one in left] == [one.read_bytes() for one in right]
    assert sum(len(pack["content_of"](web / name, name)) for name in own) < 480_000
