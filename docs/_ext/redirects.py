"""Pages that moved: their old addresses lead to the new ones, and no other page gets these."""

from html import escape
from pathlib import Path
from posixpath import dirname, relpath

from sphinx.errors import ConfigError

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={target}">
<link rel="canonical" href="{target}">
</head>
<body><p>This page has moved: <a href="{target}">{name}</a></p></body>
</html>
"""


def write_redirects(app, error):
    """Write a page at each old address, once all others are written."""
    if error is not None or app.builder.format != "html":
        return
    for old, new in app.config.redirects.items():
        if old in app.env.found_docs:
            msg = f"{old} is a page again: its name leads to {new}, and old names are not reused"
            raise ConfigError(msg)
        if new not in app.env.found_docs:
            msg = f"{old} leads to {new}, and there is no such page"
            raise ConfigError(msg)
        target = relpath(new + ".html", dirname(old) or ".")
        path = Path(app.outdir) / (old + ".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_PAGE.format(target=escape(target), name=escape(new)))


def setup(app):
    """Write them when the build is finished."""
    app.add_config_value("redirects", {}, "html", [dict])
    app.connect("build-finished", write_redirects)
    return {"parallel_read_safe": True}
