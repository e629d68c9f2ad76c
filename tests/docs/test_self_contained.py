"""What a page loads, and where it links to: found where it is, and not where it is not."""

from pathlib import Path

import pytest

from docs._ext.self_contained import broken_links, is_remote, remote_resources

DOCS = Path(__file__).parents[2] / "docs"
BUILT = DOCS / "_build" / "html"

REMOTE = {
    "a script": '<script src="https://cdn.example/a.js"></script>',
    "a script without a scheme": '<script src="//cdn.example/a.js"></script>',
    "a style sheet": '<link rel="stylesheet" href="https://cdn.example/a.css">',
    "something loaded early": '<link rel="preload" href="https://cdn.example/a.woff2" as="font">',
    "a connection": '<link rel="preconnect" href="https://cdn.example">',
    "an icon": '<link rel="icon" href="http://cdn.example/a.png">',
    "a picture": '<img src="https://cdn.example/a.png" alt="">',
    "one of several pictures": '<img src="a.png" srcset="a.png 1x, https://cdn.example/b.png 2x">',
    "a picture for dark pages": '<picture><source srcset="https://cdn.example/a.png"></picture>',
    "a frame": '<iframe src="https://example.org/"></iframe>',
    "a picture in SVG": '<svg><image href="https://cdn.example/a.png"/></svg>',
    "a font in a style": "<style>@font-face { src: url(https://cdn.example/a.woff2) }</style>",
    "an imported style": "<style>@import 'https://cdn.example/a.css';</style>",
    "a background": "<p style=\"background: url('https://cdn.example/a.png')\">",
    "an imported module": '<script>import x from "https://cdn.example/x.js"</script>',
}
LOCAL = """
<link rel="canonical" href="https://example.org/page.html"><link rel="stylesheet" href="a.css">
<a href="https://example.org/">elsewhere</a> <img src="data:image/png;base64,AAAA" alt="">
<svg xmlns="http://www.w3.org/2000/svg"></svg><p id="place"></p><a href="#place"></a>
<a href="page.html#place">here</a>
"""


def site(folder, page, **others):
    (folder / "page.html").write_text(page)
    (folder / "a.css").write_text("body { background: url(a.png) }")
    for name, text in others.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


@pytest.mark.parametrize("page", REMOTE.values(), ids=REMOTE.keys())
def test_what_is_loaded_from_elsewhere_is_found(tmp_path, page):
    assert len(remote_resources(site(tmp_path, page))) == 1


def test_what_is_loaded_by_style_sheets_and_scripts_is_found(tmp_path):
    style, script = "a{b:url('//cdn.example/a')}", 'import "https://cdn.example/a.js"'
    found = remote_resources(site(tmp_path, LOCAL, b_css=style, c_js=script))
    assert [line.split()[0] for line in found] == ["b.css", "c.js"]


def test_links_names_and_data_are_not_loaded(tmp_path):
    assert remote_resources(site(tmp_path, LOCAL)) == []
    assert broken_links(site(tmp_path, LOCAL)) == []


@pytest.mark.parametrize(
    "link", ["other.html", "page.html#elsewhere", "#elsewhere", "folder/a.css", "%20"]
)
def test_links_that_lead_nowhere_are_found(tmp_path, link):
    found = broken_links(site(tmp_path, f'<a href="{link}">x</a>'))
    assert found == [f"page.html links to {link}"]


def test_addresses():
    assert is_remote("https://a.b/c")
    assert is_remote("//a.b/c")
    assert not is_remote("../a.png")
    assert not is_remote("data:font/woff2;base64,AA")


def test_the_build_looks_at_it():
    assert '"self_contained"' in (DOCS / "conf.py").read_text()


@pytest.mark.skipif(not BUILT.exists(), reason="needs docs/_build/html, which `make docs` builds")
def test_the_built_site_loads_nothing_from_elsewhere():
    assert remote_resources(BUILT) == []
