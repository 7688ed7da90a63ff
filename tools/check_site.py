"""Every internal link of a built site leads somewhere, and no page loads anything from elsewhere."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "object": "data"}
NOT_LOADED = {"canonical", "next", "prev", "index", "search", "help", "license"}  # kinds of link that fetch nothing


class Page(HTMLParser):
    """What a page names: its anchors, where it links to, what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := found.get(name))}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in LOADED and found.get(LOADED[tag]) and (found.get("rel") or "") not in NOT_LOADED:
            self.loads.append(found[LOADED[tag]] or "")


def problems(site: Path) -> list[str]:
    """One line for each link that leads nowhere and each thing that is loaded from elsewhere."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(site.rglob("*.html"))
        if "_static" not in path.parts
    }
    found = []
    for path, page in pages.items():
        here = path.relative_to(site.resolve())
        for address in page.loads:
            parts = urlsplit(address)
            if parts.scheme not in ("", "data") or parts.netloc:
                found.append(f"{here}: loads {address}")
            elif not parts.scheme and not (path.parent / unquote(parts.path)).exists():
                found.append(f"{here}: loads {address}, which is not there")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.exists():
                found.append(f"{here}: links to {address}, which is not there")
            elif parts.fragment and goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                found.append(f"{here}: links to {address}, which has no such place")
    return found


def main() -> None:
    site = Path(sys.argv[1])
    pages = sum("_static" not in path.parts for path in site.rglob("*.html"))
    found = problems(site)
    print("\n".join(found) or f"{site}: {pages} pages, every internal link holds, nothing is loaded from elsewhere")
    sys.exit(bool(found) or not pages)


if __name__ == "__main__":
    main()
