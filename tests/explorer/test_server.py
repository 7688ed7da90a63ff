"""The server: its token, its own host and origin, GET, a few questions by POST, and whatever else is thrown at it."""

from __future__ import annotations

import http.client
import socket
import threading
import time

import pytest

from lowdim.explorer.endpoints import Endpoints
from lowdim.explorer.server import AT_ONCE, serving
from tests.explorer import subjects


@pytest.fixture(scope="module")
def server():
    with serving(Endpoints(subjects.demo("ppca"))) as running:
        yield running


def ask(server, path, method="GET", body=b"", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    given = {"Host": f"127.0.0.1:{server.server_port}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection.putrequest(method, path, skip_host=True)
    for name, value in given.items():
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body or None)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def test_the_page_and_its_parts(server):
    for name, kind in (
        ("", "text/html"),
        ("explore.js", "text/javascript"),
        ("boot.js", "text/javascript"),
        ("style.css", "text/css"),
        ("facts.json", "application/json"),
        ("axis/0", "application/octet-stream"),
    ):
        answer, body = ask(server, f"/{server.token}/{name}")
        assert answer.status == 200 and answer.headers["Content-Type"].startswith(kind) and body, name
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert answer.headers["Referrer-Policy"] == "no-referrer" and answer.headers["Cache-Control"] == "no-store"
        assert answer.headers["Access-Control-Allow-Origin"] is None


def test_the_token_is_long_and_needed(server):
    assert len(server.token) >= 24
    for path in (
        "/",
        "/facts.json",
        f"/{server.token[:-1]}/facts.json",
        f"/{server.token}x/facts.json",
        "//facts.json",
        f"/?t={server.token}",
        "/%C3%A9/facts.json",
    ):
        assert ask(server, path)[0].status == 404


def test_the_address_without_its_last_slash_leads_to_the_page(server):
    answer, _ = ask(server, f"/{server.token}")
    assert answer.status == 308 and answer.headers["Location"] == f"/{server.token}/"
    assert ask(server, f"/{server.token}", Host="evil.example")[0].status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_other_hosts_and_origins_are_refused(server, headers):
    answer, body = ask(server, f"/{server.token}/facts.json", **headers)
    assert answer.status == 403 and b"magnesium" not in body


def test_its_own_names_and_origin_are_not(server):
    own = f"127.0.0.1:{server.server_port}"
    for headers in (
        {"Host": f"localhost:{server.server_port}"},
        {"Origin": f"http://{own}"},
        {"Sec_Fetch_Site": "same-origin"},
    ):
        assert ask(server, f"/{server.token}/facts.json", **headers)[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"])
def test_only_get_is_answered(server, method):
    answer, body = ask(server, f"/{server.token}/facts.json", method)
    assert answer.status == 405 and answer.headers["Allow"] == "GET" and b"magnesium" not in body


CARD = b'{"row": 3, "hidden": [], "edited": []}'


def test_questions_too_long_for_an_address_come_by_post(server):
    answer, body = ask(server, f"/{server.token}/card", "POST", CARD)
    assert answer.status == 200 and b"magnesium" in body and answer.headers["Cache-Control"] == "no-store"
    rows = str(list(range(100))).encode()
    assert ask(server, f"/{server.token}/group", "POST", rows)[0].status == 200
    for name, asked, status in (
        ("card", b"nonsense", 404),
        ("card", b"\xff\xfe", 404),
        ("card", b"", 405),  # no length
        ("facts.json", CARD, 405),
        ("at/0,0,0.json", CARD, 405),
    ):
        assert ask(server, f"/{server.token}/{name}", "POST", asked)[0].status == status, (name, asked)
    assert ask(server, f"/{server.token}/card", "POST", Content_Length=str(2**40))[0].status == 405
    assert ask(server, f"/{server.token}/card")[0].status == 404


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/{token}/card", {"Origin": "http://evil.example"}, 403),
        ("/{token}/card", {"Sec_Fetch_Site": "cross-site"}, 403),
        ("/{token}/card", {"Host": "evil.example"}, 403),
        ("/{token}x/card", {}, 405),
        ("/card", {}, 405),
    ],
)
def test_posts_of_others_are_refused(server, path, headers, status):
    answer, body = ask(server, path.format(token=server.token), "POST", CARD, **headers)
    assert answer.status == status and b"magnesium" not in body


@pytest.mark.parametrize(
    "tail",
    [
        "../../../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "..%2f..%2fetc/passwd",
        "row/../../../etc/passwd",
        "/etc/passwd",
        "web/style.css",
        "page.html",
        "row/0.json%00",
        "axis/0/../0",
        "extra/..",
        "file:///etc/passwd",
    ],
)
def test_no_path_leads_to_the_disk(server, tail):
    answer, body = ask(server, f"/{server.token}/{tail}")
    assert answer.status == 404 and b"root:" not in body


def raw(server, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        heard = b""
        while part := line.recv(65536):
            heard += part
    return heard


def test_what_is_no_request_does_not_end_it(server):
    for data in (
        b"",
        b"\x00\xff\n\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n",
        b"BREW /pot HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /é/facts.json HTTP/1.1\r\n\r\n".encode(),
    ):
        assert b"magnesium" not in raw(server, data)
    two = f"GET /{server.token}/facts.json HTTP/1.1\r\nHost: {server.hosts[0]}\r\nHost: evil.example\r\n\r\n"
    assert b" 403 " in raw(server, two.encode()).split(b"\r\n")[0]
    assert ask(server, f"/{server.token}/facts.json")[0].status == 200


@pytest.fixture
def open_files():
    """Both ends of a thousand connections are in this process."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if 0 < hard < 8192 else max(soft, 8192), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_at_once_are_all_answered(server, open_files):
    lines = []
    request = f"GET /{server.token}/axis/0 HTTP/1.1\r\nHost: {server.hosts[0]}\r\n\r\n".encode()
    try:
        for _ in range(1000):
            line = socket.create_connection(("127.0.0.1", server.server_port), timeout=30)
            line.sendall(request)
            lines.append(line)
        assert all(line.recv(12) == b"HTTP/1.0 200" for line in lines)
    finally:
        for line in lines:
            line.close()
    assert ask(server, f"/{server.token}/facts.json")[0].status == 200


def test_whoever_says_nothing_is_let_go(server, monkeypatch):
    monkeypatch.setattr("lowdim.explorer.server.ExploreHandler.timeout", 0.2)
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(b"GET /")
        begun = time.monotonic()
        assert line.recv(10) == b"" and time.monotonic() - begun < 10


def test_whoever_says_nothing_takes_nobodys_turn(server):
    """More silent connections than are answered at a time: the next request is answered at once."""
    silent = [socket.create_connection(("127.0.0.1", server.server_port), timeout=20) for _ in range(AT_ONCE + 6)]
    try:
        begun = time.monotonic()
        assert ask(server, f"/{server.token}/axis/0")[0].status == 200
        assert time.monotonic() - begun < 2
    finally:
        for line in silent:
            line.close()


def test_it_ends_with_its_block():
    with serving(Endpoints(subjects.demo("ppca"))) as running:
        port, before = running.server_port, threading.active_count()
    assert before > 1
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
