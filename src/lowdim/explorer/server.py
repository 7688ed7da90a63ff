"""The explorer's server: this computer only, read-only, and nobody without the address.

It answers GET, and POST where a question may be too long for an address (`ASKED`). The address begins with a token
drawn for this run, the Host header names this computer and the request comes from no other site: a page elsewhere can
neither guess the token nor, by a name that it turns to 127.0.0.1, read a reply. What is served is what `Endpoints` has;
nothing is written, and no path of the disk is ever looked up.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from lowdim.explorer.endpoints import ASKED, Endpoints, Reply
from lowdim.explorer.module import joined, web_file

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PATIENCE = 5.0  # seconds of silence within the lines of a request: whoever says nothing is let go
LONGEST = 2**24  # bytes of a question: every row of a table of two million
AT_ONCE = 64  # requests that are answered at a time, once they have been read; the others wait for their turn
PAGES = {
    "": ("page.html", "text/html"),
    "style.css": ("style.css", "text/css"),
    "boot.js": ("boot.js", "text/javascript"),
}


class ExploreServer(ThreadingHTTPServer):
    """One page, on a port and under a token of its own."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, endpoints: Endpoints) -> None:
        self.endpoints, self.token = endpoints, secrets.token_urlsafe(18)
        self.turns = threading.BoundedSemaphore(AT_ONCE)
        super().__init__(("127.0.0.1", 0), ExploreHandler)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost"))

    @property
    def address(self) -> str:
        """What a person opens."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that broke is nobody's business; the server goes on."""


class ExploreHandler(BaseHTTPRequestHandler):
    """One request."""

    server: ExploreServer
    timeout = PATIENCE
    server_version, sys_version = "lowdim", ""

    def do_GET(self) -> None:
        if not self._from_here():
            return self._send(403, Reply(b"This page is for this computer alone.\n", "text/plain"))
        if urlsplit(self.path).path == f"/{self.server.token}":  # the page's parts are named from its last slash
            return self._send(308, Reply(b"", "text/plain"), Location=f"/{self.server.token}/")
        with self.server.turns:  # not before: whoever says nothing takes nobody's turn
            self._tell(self._reply())

    def do_POST(self) -> None:
        if not self._from_here():
            return self._send(403, Reply(b"This page is for this computer alone.\n", "text/plain"))
        name, size = self._name(), self.headers.get("Content-Length", "")
        if name not in ASKED or not (size.isascii() and size.isdigit()) or int(size) > LONGEST:
            return self._refuse()
        asked = self.rfile.read(int(size)).decode("utf-8", "replace")
        with self.server.turns:
            self._tell(self.server.endpoints.reply(name, asked))

    def _tell(self, found: Reply | None) -> None:
        self._send(*((404, Reply(b"There is no such thing.\n", "text/plain")) if found is None else (200, found)))

    def _refuse(self) -> None:
        self._send(405, Reply(b"This page is read-only: only GET is answered here.\n", "text/plain"), Allow="GET")

    def __getattr__(self, name: str) -> Any:
        """Every other method is refused, whatever it is called."""
        if name.startswith("do_"):
            return self._refuse
        raise AttributeError(name)

    def _from_here(self) -> bool:
        """Whether the request names this computer, and no other site made it."""
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        ours = {f"http://{host}" for host in self.server.hosts}
        hosts = self.headers.get_all("Host", [])
        return (
            len(hosts) == 1
            and hosts[0] in self.server.hosts
            and (origin is None or origin in ours)
            and site in ("none", "same-origin")
        )

    def _name(self) -> str | None:
        """What is asked for; None without the token."""
        _, token, name = ("", *urlsplit(self.path).path.lstrip("/").partition("/")[::2])
        return name if secrets.compare_digest(token.encode("utf-8", "replace"), self.server.token.encode()) else None

    def _reply(self) -> Reply | None:
        name = self._name()
        if name in PAGES:
            file, kind = PAGES[name]
            return Reply(web_file(file).encode(), kind)
        if name == "explore.js":
            return Reply(joined().encode(), "text/javascript")
        return None if name is None or name in ASKED else self.server.endpoints.reply(name)

    def _send(self, status: int, reply: Reply, **more: str) -> None:
        self.send_response(status)
        text = reply.kind.startswith(("text/", "application/json"))
        self.send_header("Content-Type", f"{reply.kind}; charset=utf-8" if text else reply.kind)
        self.send_header("Content-Length", str(len(reply.body)))
        for name, value in {**HEADERS, **more}.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written down."""


@contextlib.contextmanager
def serving(endpoints: Endpoints) -> Iterator[ExploreServer]:
    """A server that answers while the block runs."""
    _ = endpoints.changed  # remember what the files are now
    server = ExploreServer(endpoints)
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    thread = threading.Thread(target=server.serve_forever, name="lowdim explore", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
