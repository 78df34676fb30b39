from __future__ import annotations

import base64
import hashlib
import zipfile
from collections.abc import Generator
from pathlib import Path

import pytest

from callblocks.core.errors import CallblocksError
from callblocks.server import pages
from callblocks.views.html.page_markdown import web_folder
from support.chat_server import Running, running_server

TOKEN = "a-token-of-sixteen"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:;"
    " connect-src 'self'; frame-src 'self' blob:; object-src 'self' blob:; font-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    with running_server(tmp_path_factory.mktemp("pages"), token=TOKEN) as running:
        yield running


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = (tmp_path / "web").resolve()
    for path in ("src/one.js", "css/one.css", "index.html", "icon.svg", "package.json", "a.b/c.js"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"/* {path} */")
    monkeypatch.setattr(pages, "web_folder", lambda: folder)
    return folder


@pytest.mark.parametrize("path", ["/", "/playground", "/timeline"])
def test_a_page_is_sent_without_a_token_and_runs_only_our_scripts(
    server: Running, path: str
) -> None:
    answer = server.client.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cache-control"] == "no-cache"
    assert "camera=()" in answer.headers["permissions-policy"]
    assert "<!doctype html>" in answer.text.lower()


def test_the_frame_of_diagrams_runs_its_own_script_and_what_it_is_handed(server: Running) -> None:
    answer = server.client.get(f"/web/{pages.DIAGRAM}")
    script = answer.text.partition("<script>")[2].partition("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = answer.headers["content-security-policy"]
    assert f"script-src 'sha256-{digest}' blob:;" in policy
    assert "default-src 'none'" in policy
    assert policy.endswith("sandbox allow-scripts")


def test_no_page_has_a_script_or_a_style_in_it() -> None:
    for name in pages.PAGES.values():
        text = (web_folder() / name).read_text("utf-8")
        assert "<style" not in text
        assert "style=" not in text
        for script in text.split("<script")[1:]:
            assert 'src="/web/' in script.partition(">")[0]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/one.js", "text/javascript; charset=utf-8"),
        ("css/one.css", "text/css; charset=utf-8"),
        ("index.html", "text/html; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
        ("a.b/c.js", "text/javascript; charset=utf-8"),
    ],
)
def test_a_file_is_sent_as_what_it_is(server: Running, web: Path, path: str, kind: str) -> None:
    answer = server.client.get(f"/web/{path}")
    assert (answer.status_code, answer.text) == (200, f"/* {path} */")
    assert answer.headers["content-type"] == kind
    assert answer.headers["content-security-policy"] == POLICY


def test_a_file_that_did_not_change_is_not_sent_again(server: Running, web: Path) -> None:
    tag = server.client.get("/web/src/one.js").headers["etag"]
    again = server.client.get("/web/src/one.js", headers={"if-none-match": tag})
    assert (again.status_code, again.content) == (304, b"")
    (web / "src/one.js").write_text("let changed = true;")
    changed = server.client.get("/web/src/one.js", headers={"if-none-match": tag})
    assert (changed.status_code, changed.text) == (200, "let changed = true;")


def test_head_says_what_get_would(server: Running, web: Path) -> None:
    asked = server.client.head("/web/src/one.js")
    got = server.client.get("/web/src/one.js")
    assert (asked.status_code, asked.content) == (200, b"")
    for name in ("content-length", "content-type", "etag"):
        assert asked.headers[name] == got.headers[name]


@pytest.mark.parametrize(
    "path",
    [
        *("", "src", "src/", "none.js", "package.json", "src/one.js/", "src//one.js", ".hidden.js"),
        *("../pyproject.toml", "src/../../secret.js", "%2e%2e/secret.js", "..%2fsecret.js"),
        *("/etc/passwd", "%2fetc%2fpasswd", "src\\..\\..\\secret.js", "src/one.js%00", "one.JS"),
        *(
            "src/..%5c..%5csecret.js",
            "~/secret.js",
            "C:/secret.js",
            "link.js",
            "ünï.js",
            "x" * 5000,
        ),
    ],
)
def test_nothing_but_files_of_known_kinds_in_the_folder_is_sent(
    server: Running, web: Path, path: str
) -> None:
    (web.parent / "secret.js").write_text("secret")
    (web / ".hidden.js").write_text("secret")
    (web / "link.js").symlink_to(web.parent / "secret.js")
    request = f"GET /web/{path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    answer = server.raw(request.encode("latin-1"))
    assert answer.startswith((b"HTTP/1.1 404 ", b"HTTP/1.1 400 "))
    assert b"secret" not in answer


def test_the_files_of_an_archive_are_sent_and_no_others(
    server: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "web.zip", "w") as archive:
        archive.writestr("index.html", "packed page")
        archive.writestr("package.json", "{}")
        archive.writestr("vendor/large.js", "large", zipfile.ZIP_LZMA)
    folder = zipfile.Path(tmp_path / "web.zip")
    monkeypatch.setattr(pages, "web_folder", lambda: folder)
    pages._packed.cache_clear()
    answer = server.client.get("/")
    assert answer.text == "packed page"
    again = server.client.get("/", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304
    # A Python without lzma cannot unpack the largest file, and serves the rest.
    monkeypatch.setattr(zipfile, "lzma", None)
    for path in ("package.json", "src/call-blocks.js", "src", "vendor/large.js"):
        assert server.client.get(f"/web/{path}").status_code == 404
    pages._packed.cache_clear()


def test_a_missing_folder_is_said_on_the_page(
    server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> Path:
        raise CallblocksError("no web folder")

    monkeypatch.setattr(pages, "web_folder", none)
    answer = server.client.get("/")
    assert answer.status_code == 500
    assert "The files of this page are missing" in answer.text
    assert server.client.get("/web/src/one.js").status_code == 404


def test_only_pages_are_without_a_token(server: Running) -> None:
    for path in ("/api", "/api/chats", "/web", "/playground/", "/timeline/x", "//", "/api/../"):
        request = f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        assert b" 401 " in server.raw(request.encode())


def test_a_link_on_another_site_may_lead_to_a_page_and_to_nothing_else(server: Running) -> None:
    visit = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert server.client.get("/playground", headers=visit).status_code == 200
    for path in ("/web/css/tokens.css", "/api/chats"):
        assert server.client.get(path, headers=visit).status_code == 403
    picture = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert server.client.get("/playground", headers=picture).status_code == 403


def test_a_page_with_all_its_files_is_within_the_limit_of_requests(server: Running) -> None:
    statuses = {server.client.get("/web/css/tokens.css").status_code for _ in range(200)}
    assert statuses == {200}
