"""The reference of the command line, from the commands: ``python -m tools.command_reference``."""

from __future__ import annotations

from pathlib import Path

import click

from squareone.cli.commands import cli

PAGE = Path(__file__).parents[1] / "docs" / "commands.rst"
_WIDTH = 96
_HEAD = """\
Commands
========

.. This page is made by python -m tools.command_reference; a test compares.

No line of Python is needed: :doc:`ten_minutes` shows how the commands go together.
``pip install ".[cli]"`` in a checkout installs what they need (:doc:`install`). Exit codes are 0, 1
where something fails and 2 where a command is written wrongly; 130 after Ctrl-C. Data goes to
stdout, everything else to stderr. ``--json`` prints one object with the number of its ``schema``;
``NO_COLOR`` is respected. Completion in bash:
``eval "$(_SQUAREONE_COMPLETE=bash_source squareone)"``, and the same with zsh and fish.
"""


def page() -> str:
    """The page as text."""
    parts = [_HEAD, _section("squareone", cli)]
    parts += [_section(f"squareone {name}", command) for name, command in cli.commands.items()]
    return "\n".join(parts)


def _section(name: str, command: click.Command) -> str:
    names = ["-h", "--help"]
    context = click.Context(command, info_name=name, help_option_names=names)
    context.terminal_width = _WIDTH
    lines = command.get_help(context).splitlines()
    shown = "\n".join(f"   {line}".rstrip() for line in lines)
    return f"{name}\n{'-' * len(name)}\n\n.. code-block:: text\n\n{shown}\n"


if __name__ == "__main__":
    PAGE.write_text(page())
