"""A site that opens from a folder: nothing that a page loads may come from elsewhere.

The build fails otherwise, and where a link between its own pages leads nowhere.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser fetches by itself: elements, and the attributes that say what.
_LOADS = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "track": ("src",),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
#: Links in a page's head that name something without fetching it.
_NAMES_ONLY = {"alternate", "author", "canonical", "help", "license", "next", "prev", "search"}
_NAMES_ONLY |= {"index", "genindex"}
_IN_STYLES = re.compile(r"""url\(\s*['"]?([^'")\s]+)|@import\s+['"]([^'"]+)""")
_IN_MODULES = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*['"]((?:https?:)?//[^'"]+)""")


class Page(HTMLParser):
    """What a page loads, what it links to, and the places in it that have a name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.names: set[str] = set()
        self._inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        values = {key: value or "" for key, value in attrs}
        self.names.update(values[key] for key in ("id", "name") if key in values)
        self.loads += loaded_by_styles(values.get("style", ""))
        self._inside = tag
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and set(values.get("rel", "").split()) <= _NAMES_ONLY:
            return
        for key in _LOADS.get(tag, ()):
            if key == "srcset":
                parts = values.get(key, "").split(",")
                self.loads += [part.split()[0] for part in parts if part.strip()]
            elif key in values:
                self.loads.append(values[key])

    def handle_data(self, data):
        if self._inside == "style":
            self.loads += loaded_by_styles(data)
        if self._inside == "script":
            self.loads += loaded_by_modules(data)

    def handle_endtag(self, tag):
        self._inside = ""


def loaded_by_styles(text):
    """Return the addresses in ``url(…)`` and ``@import`` of a style sheet."""
    return [one or other for one, other in _IN_STYLES.findall(text)]


def loaded_by_modules(text):
    """Return the remote addresses from which a script imports."""
    return _IN_MODULES.findall(text)


def is_remote(address):
    """Whether an address leads away from the folder."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def pages_of(folder):
    """Return the pages of a site; what stands in ``_static`` are templates of the theme."""
    found = {}
    for path in sorted(Path(folder).rglob("*.html")):
        if "_static" not in path.relative_to(folder).parts:
            found[path] = Page(path.read_text(encoding="utf-8"))
    return found


def remote_resources(folder):
    """Return lines that name a file of a site and what it would fetch from elsewhere."""
    found, pages = [], pages_of(folder)
    for path in sorted(Path(folder).rglob("*")):
        if path in pages:
            loads = pages[path].loads
        elif path.suffix == ".css":
            loads = loaded_by_styles(path.read_text(encoding="utf-8"))
        elif path.suffix in (".js", ".mjs"):
            loads = loaded_by_modules(path.read_text(encoding="utf-8"))
        else:
            continue
        name = path.relative_to(folder).as_posix()
        found += [f"{name} loads {address}" for address in loads if is_remote(address)]
    return found


def broken_links(folder):
    """Return lines that name a page of a site and a link to a file or place that is not there."""
    folder = Path(folder).resolve()
    pages = pages_of(folder)
    found = []
    for path, page in pages.items():
        for link in sorted({*page.links, *(a for a in page.loads if not is_remote(a))}):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            place = unquote(parts.fragment)
            known = target in pages
            lost = not target.exists() or (known and place and place not in pages[target].names)
            if lost:
                found.append(f"{path.relative_to(folder).as_posix()} links to {link}")
    return found


def check(app, error):
    """Look at what was written."""
    from sphinx.errors import SphinxError  # what is above can be used without Sphinx

    if error is not None or app.builder.format != "html":
        return
    names = {*app.env.found_docs, *app.config.redirects, "genindex", "search"}
    found = [
        line
        for line in (*remote_resources(app.outdir), *broken_links(app.outdir))
        # pages that an earlier build has left there are not of this site
        if not line.split()[0].endswith(".html") or line.split()[0].removesuffix(".html") in names
    ]
    if found:
        raise SphinxError("\n".join(["the site is not complete in itself:", *found]))


def setup(app):
    """Look once everything is written, redirects too."""
    app.connect("build-finished", check, priority=900)
    return {"parallel_read_safe": True}
