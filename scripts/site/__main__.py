"""Build the site of docs/ into site/: python scripts/site

The pages are copied, made ready for the generator, built and checked in a folder apart; site/ is
replaced only when all went well. The build fails on a link that leads nowhere, on a page that
shows other words than its Markdown has, and on an address of another host that a page would load.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from markdown_it import MarkdownIt
from navigation import CODE, CONTRIBUTING, DOCS, LINK, ROOT, navigation, paths

HERE = Path(__file__).parent
SITE = ROOT / "site"
WORKER = "file-worker.js"
# The generator's own way to search pages that are opened from files is a script of another host.
SHIM = re.compile(
    r"""<script\b[^>]*\bsrc=["']?https://unpkg\.com/iframe-worker/shim[^>]*>\s*</script>"""
)
# In a table a bar in code is escaped for CommonMark; Python-Markdown keeps it as it is in code.
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
# An address that a page or a style loads; a link that a reader may follow is none.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\bsrc\s*=\s*["']?(?:https?:)?//[^\s"'>]+"""
    r"""|<link\b[^>]*?\bhref\s*=\s*["']?(?:https?:)?//[^\s"'>]+"""
    r"""|(?:url\(|@import)\s*["']?(?:https?:)?//[^\s"')]+"""
)


def main() -> None:
    """Build, check, and replace site/."""
    with tempfile.TemporaryDirectory(prefix="callblocks-site-") as folder:
        place = Path(folder)
        pages = stage(place)
        command = [str(Path(sys.executable).parent / "zensical"), "build", "--strict"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(re.sub(r"\x1b\[[\d;]*m", "", done.stdout) + "site: not built")
        built = place / "site"
        replace_shim(built)
        check_words(pages, place / "docs", built)
        check_hosts(built)
        shutil.rmtree(SITE, ignore_errors=True)
        shutil.copytree(built, SITE)
    print(f"site: {len(pages)} pages; open site/index.html")


def stage(place: Path) -> list[str]:
    """Copy the pages into a folder, with the configuration; return their paths."""
    docs = place / "docs"
    shutil.copytree(DOCS, docs)
    for name in ("site.css", WORKER):
        shutil.copyfile(HERE / name, docs / name)
    shutil.copyfile(ROOT / "CONTRIBUTING.md", docs / CONTRIBUTING)
    for page in docs.rglob("*.md"):
        name = page.relative_to(docs).as_posix()
        source = ROOT / "CONTRIBUTING.md" if name == CONTRIBUTING else DOCS / name
        page.write_text(prepared(source), "utf-8")
    entries = navigation((DOCS / "index.md").read_text("utf-8"))
    settings = (HERE / "zensical.toml").read_text("utf-8")
    nav = f"[project]\nnav = {toml(entries)}\n"
    (place / "zensical.toml").write_text(settings.replace("[project]\n", nav, 1), "utf-8")
    return paths(entries)


def toml(value: object) -> str:
    """Return lists, tables of one key and strings as TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return (
            f"{{{', '.join(f'{json.dumps(key)} = {toml(inner)}' for key, inner in value.items())}}}"
        )
    return json.dumps(value, ensure_ascii=False)


def prepared(page: Path) -> str:
    """Return a page as the generator needs it. Lines keep their numbers."""

    def replaced(match: re.Match[str]) -> str:
        return match[0] if match["target"] is None else linked(match, page)

    text = page.read_text("utf-8")
    text = re.sub(f"{CODE}|{LINK}", replaced, text, flags=re.MULTILINE)
    text = ROW.sub(lambda row: re.sub(CODE, lambda code: code[0].replace("\\|", "|"), row[0]), text)
    return text.replace("<details>", '<details markdown="1">')


def linked(link: re.Match[str], page: Path) -> str:
    """Return a link as it is on the site: a file that the site lacks is not linked."""
    target, hash_sign, anchor = link["target"].partition("#")
    if not target or "://" in target:
        return link[0]
    file = (page.parent / target).resolve()
    if not file.exists():
        line = page.read_text("utf-8").count("\n", 0, link.start()) + 1
        sys.exit(f"{page.relative_to(ROOT)}:{line}: no such file: {target}")
    on_site = staged_path(file)
    if on_site is None:
        return link["text"]
    own = staged_path(page)
    assert own is not None
    return f"[{link['text']}]({os.path.relpath(on_site, own.parent)}{hash_sign}{anchor})"


def staged_path(file: Path) -> Path | None:
    """Return the path of a file among the pages of the site, if it is there."""
    if file.is_relative_to(DOCS):
        return file.relative_to(DOCS)
    return Path(CONTRIBUTING) if file == ROOT / "CONTRIBUTING.md" else None


def replace_shim(built: Path) -> None:
    """Put our own script in place of the one that the generator loads from another host."""
    for file in built.rglob("*.html"):
        path = os.path.relpath(built / WORKER, file.parent)
        html = SHIM.sub(f'<script src="{path}"></script>', file.read_text("utf-8"))
        file.write_text(html, "utf-8")


class Words(HTMLParser):
    """The words of a page, and how many elements of each structure it has."""

    COUNTED = (
        "blockquote",
        "details",
        "em",
        "h1",
        "h2",
        "h3",
        "h4",
        "img",
        "li",
        "pre",
        "strong",
        "table",
        "th",
    )

    def __init__(self, html: str) -> None:
        super().__init__()
        self._pieces: list[str] = []
        self.counts = dict.fromkeys(self.COUNTED, 0)
        self.feed(html)
        self.text = re.sub(r"\s+", "", "".join(self._pieces))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.counts:
            self.counts[tag] += 1

    def handle_data(self, data: str) -> None:
        self._pieces.append(data)


def check_words(pages: list[str], docs: Path, built: Path) -> None:
    """Compare each page with what CommonMark makes of its source.

    The generator reads Markdown by rules of its own, and the pages are written for CommonMark.
    """
    commonmark = MarkdownIt("commonmark").enable("table")
    for page in pages:
        source = DOCS / page if page != CONTRIBUTING else ROOT / "CONTRIBUTING.md"
        wanted = Words(commonmark.render(source.read_text("utf-8")))
        html = (built / page).with_suffix(".html").read_text("utf-8")
        article = html[html.index("<article") : html.index("</article>")]
        shown = Words(re.sub(r'<a class="headerlink".*?</a>', "", article))
        if shown.text != wanted.text:
            pairs = zip(shown.text, wanted.text, strict=False)
            at = next((n for n, (one, other) in enumerate(pairs) if one != other), 0)
            around = slice(max(0, at - 30), at + 30)
            sys.exit(f"{page}: shown is {shown.text[around]!r}, written is {wanted.text[around]!r}")
        for tag, count in wanted.counts.items():
            if shown.counts[tag] != count:
                sys.exit(f"{page}: {shown.counts[tag]} elements {tag}, and not {count}")


def check_hosts(built: Path) -> None:
    """Refuse a site that loads something from another host."""
    for file in sorted(built.rglob("*")):
        if file.suffix in {".html", ".css"} and (found := LOADED.search(file.read_text("utf-8"))):
            sys.exit(f"{file.relative_to(built)}: loads from another host: {found[0]}")


if __name__ == "__main__":
    main()
