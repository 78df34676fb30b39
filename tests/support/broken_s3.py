"""A proxy before the S3 server of the tests, that fails, lies or forgets as it is told.

with broken_s3(place) as faults:
    faults.answers = [503, 503]      # the next requests get these statuses, and do not pass
    faults.lies = 1                  # so many puts are answered with 200 and dropped
    faults.cuts = 1                  # so many puts pass with half of their content
    faults.ignores = {"if-match"}    # headers that do not pass
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from unittest.mock import patch
from urllib.parse import urlsplit

__all__ = ("Faults", "broken_s3")


class Faults:
    """What goes wrong from now on, and the requests that came, as `(method, range)`."""

    def __init__(self) -> None:
        self.answers: list[int] = []
        self.lies = 0
        self.cuts = 0
        self.ignores: set[str] = set()
        self.requests: list[tuple[str, str]] = []


@contextmanager
def broken_s3() -> Generator[Faults]:
    """Have the environment name a proxy before the server that it names now."""
    faults, behind = Faults(), urlsplit(os.environ["AWS_ENDPOINT_URL"]).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            faults.requests.append((self.command, self.headers.get("range", "")))
            if faults.answers:
                return self._answer(faults.answers.pop(0), b"<Error><Code>Slow</Code></Error>")
            if self.command == "PUT" and body and faults.lies:
                faults.lies -= 1
                return self._answer(200, b"", {"etag": '"lie"'})
            if self.command == "PUT" and body and faults.cuts:
                faults.cuts -= 1
                body = body[: len(body) // 2]
            dropped = {*faults.ignores, "content-length", "host", "transfer-encoding"}
            headers = {
                key: value for key, value in self.headers.items() if key.lower() not in dropped
            }
            connection = HTTPConnection(behind, timeout=20)
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            named = {k: v for k, v in answer.getheaders() if k.lower() not in _OF_THE_WAY}
            size = answer.getheader("content-length") if self.command == "HEAD" else None
            connection.close()
            self._answer(answer.status, content, named, size)
            return None

        do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = handle_one

        def _answer(
            self,
            status: int,
            body: bytes,
            headers: dict[str, str] | None = None,
            size: str | None = None,
        ) -> None:
            self.send_response(status)
            for key, value in (headers or {}).items():
                self.send_header(key, value)
            self.send_header("content-length", size or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with patch.dict(os.environ, {"AWS_ENDPOINT_URL": address}):
            yield faults
    finally:
        server.shutdown()
        server.server_close()


_OF_THE_WAY = ("content-length", "transfer-encoding", "connection", "server", "date")
