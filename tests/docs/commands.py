"""Commands that pages tell people to type: they exist, with these options and values, unrun."""

import re
import shlex
from pathlib import Path

import click

from squareone.cli.commands import cli

ROOT = Path(__file__).parents[2]


def context_of(command):
    """Named as the program does: click keeps the first help option that it makes of a command."""
    return click.Context(command, help_option_names=["-h", "--help"])


def subcommands():
    """The commands by their names."""
    context = context_of(cli)
    return {name: cli.get_command(context, name) for name in cli.list_commands(context)}


def check_arguments(arguments):
    """What stands after ``squareone``, by click's own parser; files need not be there."""
    name, *rest = arguments
    if name.startswith("-"):
        cli.make_parser(context_of(cli)).parse_args(list(arguments))
        return
    command = subcommands()[name]
    context = context_of(command)
    values, _, _ = command.make_parser(context).parse_args(rest)
    for parameter in command.params:
        value = values.get(parameter.name)
        given = isinstance(value, (str, list, tuple)) and len(value) > 0
        if parameter.required and not given:
            raise click.MissingParameter(ctx=context, param=parameter)
        if given and not isinstance(parameter.type, (click.Path, click.File)):
            parameter.type_cast_value(context, value)


def check(command):
    """A line of a shell."""
    words = shlex.split(command, comments=True)
    program, *arguments = words[2:] if words[:2] == ["python", "-m"] else words
    if program == "squareone":
        check_arguments(arguments)
    elif program == "pytest":
        files = [each for each in arguments if "/" in each or each == "src"]
        assert files
        assert all((ROOT / each).exists() for each in files)
    elif program == "make":
        assert re.search(f"^{arguments[0]}:", (ROOT / "Makefile").read_text(), flags=re.M)
    else:
        assert (program, arguments[0]) == ("pip", "install"), command
        declared = (ROOT / "pyproject.toml").read_text()
        for extra in re.findall(r"\[(.*?)\]", arguments[1]):
            assert all(re.search(f"^{each} = ", declared, flags=re.M) for each in extra.split(","))
