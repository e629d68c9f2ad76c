"""Configuration of the documentation; the build needs no network."""

import sys
from pathlib import Path

import squareone

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "squareone"
author = "the squareone developers"
copyright = "2026, the squareone developers"
version = release = squareone.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "decision_picture",
    "formulas",
    "parameter_tables",
    "redirects",
    "rooms_picture",
    "self_contained",
    "solver_tables",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_static", "**/GALLERY_HEADER.rst", "**/sg_execution_times.rst"]
default_role = "code"
html_math_renderer = "katex"

# What is copied is what one types: without prompts, and without outputs.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True

html_theme = "pydata_sphinx_theme"
html_title = f"squareone {release}"
html_show_sourcelink = False
html_theme_options = {
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_toc_level": 2,
}
# Pages without pages below them leave the room of the left column to the text.
_ALONE = (
    "index",
    "install",
    "comparison",
    "measured",
    "stability",
    "derivations",
    "architecture",
    "changelog",
)
html_sidebars = {page: [] for page in _ALONE}
html_static_path = ["_static"]
html_css_files = ["wider.css"]
html_js_files = ["search_button.js"]

# Pages that were renamed, and what they are called now.
redirects = {
    "guide/rows": "guide/diagnostics",
    "guide/streams": "guide/rows_from_files",
    "guide/online": "guide/learning_from_streams",
}

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "ignore_pattern": r"(^|[/\\])(?!plot_)[^/\\]*\.py$",
    "backreferences_dir": None,
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,  # that page loads scripts from elsewhere
}


def skip_inherited_from_sklearn(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator; its pages refer to its own guide."""
    defined_in = getattr(obj, "__module__", None) or ""
    return True if defined_in.startswith("sklearn.") else None


def setup(app):
    """Connect the hook."""
    app.connect("autodoc-skip-member", skip_inherited_from_sklearn)
