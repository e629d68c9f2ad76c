"""The commands and their options; what they do is imported when they are called."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from ..version import __version__
from .console import Console, clean

__all__ = ["cli", "main"]

_TABLE = click.argument("table", type=click.Path(allow_dash=True), metavar="TABLE")
_ISSUES = "squareone --debug shows where"
# What only the page of ``squareone label`` needs.
_OF_LABEL = ("starlette", "uvicorn")


class Failure(click.ClickException):
    """What went wrong, in words; the exit code is 1."""

    exit_code = 1

    def show(self, file: Any = None) -> None:
        """On stderr."""
        colour = False if os.environ.get("NO_COLOR") else None
        mark = click.style("error:", fg="red", bold=True)
        click.echo(f"{mark} {clean(self.message)}", err=True, color=colour)


class Commands(click.Group):
    """A group whose commands fail in words, and with a traceback only where it is asked for."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; errors become messages."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except BrokenPipeError:  # click ends quietly, with code 1
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            raise Failure(_words(error)) from error


def _words(error: Exception) -> str:
    """What an error says."""
    if isinstance(error, ImportError) and getattr(error, "name", None):
        extra = "label" if error.name in _OF_LABEL else "cli"
        return f'{error.name} is not installed, which this needs: pip install "squareone[{extra}]"'
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if type(error).__module__.partition(".")[0] == "squareone":  # it says what to do
        return str(error)
    if isinstance(error, OSError | ValueError | TypeError | MemoryError) and str(error):
        return str(error)
    said = f"{type(error).__name__}: {error}"
    return f"this should not have happened ({said}). {_ISSUES}"


def _reading(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of how a text file is written."""
    options = (
        click.option("--encoding", help="Of text, such as utf-8, latin-1 or utf-16."),
        click.option("--delimiter", help="Between columns of text; \\t is a tab."),
        click.option("--decimal", type=click.Choice([".", ","]), help="Before fractions."),
        click.option(
            "--header-lines",
            type=click.IntRange(0, 100),
            help="Lines before the first row, of which the first has the names; 0: none has.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _saying(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of what is said."""
    options = (
        click.option("--json", "as_json", is_flag=True, help="One object on stdout."),
        click.option("-q", "--quiet", is_flag=True, help="Notes and errors only."),
        click.option("-v", "--verbose", is_flag=True, help="More of what is going on."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _console(options: dict[str, Any]) -> Console:
    debug = bool(click.get_current_context().find_root().params.get("debug"))
    if options.get("delimiter"):
        options["delimiter"] = options["delimiter"].replace("\\t", "\t")
        if len(options["delimiter"]) != 1:
            msg = "one character is expected, such as ';' or \\t"
            raise click.BadParameter(msg, param_hint="--delimiter")
    return Console(
        quiet=options.pop("quiet"),
        verbose=options.pop("verbose"),
        debug=debug,
        as_json=options.pop("as_json"),
    )


def _typed(ctx: click.Context) -> list[str]:
    """A command as it was typed, with the names of files without their folders."""
    found = [str(ctx.info_name)]
    for param in ctx.command.params:
        if ctx.get_parameter_source(str(param.name)) is not ParameterSource.COMMANDLINE:
            continue
        value = ctx.params[str(param.name)]
        for each in value if param.multiple else [value]:
            shown = os.path.basename(each) if isinstance(param.type, click.Path) else str(each)
            if isinstance(param, click.Argument):
                found.append(shown)
            else:
                found += [param.opts[-1]] if each is True else [param.opts[-1], shown]
    return found


def _fitting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a fit."""
    options = (
        click.option("--target", required=True, help="The column to predict."),
        click.option(
            "--task",
            type=click.Choice(["regression", "classification"]),
            help="Whether it is a quantity or has classes; found by default.",
        ),
        click.option("--drop", multiple=True, metavar="COLUMN", help="Leave out; repeat for more."),
        click.option(
            "--words",
            multiple=True,
            metavar="COLUMN",
            help="Take as words, numbers too; repeat for more.",
        ),
        click.option("--weights", metavar="COLUMN", help="How many rows each row counts as."),
        click.option("--groups", metavar="COLUMN", help="Rows of one group are left out together."),
        click.option(
            "--time-column", metavar="COLUMN", help="Errors are of later rows, by this column."
        ),
        click.option(
            "--kernel",
            type=click.Choice(["auto", "gaussian", "laplacian", "matern", "linear"]),
            help="auto tries several, with and without a learned metric.",
        ),
        click.option(
            "--centers", metavar="auto|NUMBER", callback=_centers, help="Rows with coefficients."
        ),
        click.option("--memory", help="To be used at most, such as 2GiB."),
        click.option(
            "--time", type=click.FloatRange(0, min_open=True), help="Seconds for one fit, about."
        ),
        click.option("--device", help="Where exact fits are made: cuda, cpu or auto."),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _centers(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    if value is None or value == "auto" or (value.isdigit() and int(value) > 0):
        return value
    msg = f"{value!r}: auto or a number of rows is expected"
    raise click.BadParameter(msg)


def _reporting(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of a report."""
    options = (
        click.option("--report", type=click.Path(dir_okay=False), help="The report, in HTML."),
        click.option("--no-report", is_flag=True, help="None."),
        click.option("--show-rows", is_flag=True, help="Show values of rows in the report."),
        click.option(
            "--ignore",
            multiple=True,
            metavar="CODE",
            help="A check to leave out, such as SQ002; repeat for more.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


_FORCE = click.option("--force", is_flag=True, help="Replace files that are there.")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="squareone")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def cli(debug: bool) -> None:
    """From a table to a model, predictions and an honest error.

    TABLE is a CSV, TSV, Parquet or Arrow file, also .gz or .zst, or - for standard input. Rows
    count from 1, without the header. Nothing is sent anywhere.
    """


@cli.command()
@_TABLE
@_fitting
@click.option(
    "--quick", is_flag=True, help="One kernel, and the error by which it was chosen: optimistic."
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="The model.")
@_reporting
@_FORCE
@_reading
@_saying
def fit(table: str, **options: Any) -> None:
    """Fit a model to TABLE that predicts a column, and measure how far off it is.

    \b
    squareone fit houses.csv --target price

    writes houses.squareone and the report houses.html into the current folder. The error is of
    rows that no choice has seen:
    five folds up to 5,000 rows, beyond that a random fifth, by group or time where these are given.
    """  # noqa: D301  # click wants the sign itself
    from .fit_command import run

    if table == "-" and not options["output"]:
        msg = "a table from standard input has no name: say where the model goes, -o NAME.squareone"
        raise click.UsageError(msg)
    if options["report"] and options["no_report"]:
        msg = "--report and --no-report contradict each other: give one of them"
        raise click.UsageError(msg)
    typed = _typed(click.get_current_context())
    run(table, options | {"typed": typed}, _console(options))


@cli.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@_TABLE
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="By default stdout, as CSV.")
@_FORCE
@click.option("--columns", multiple=True, metavar="COLUMN", help="Keep; repeat for more.")
@click.option(
    "--intervals",
    type=click.Choice(["stored", "adaptive", "jackknife+", "none"]),
    default="stored",
    show_default=True,
    help="stored: by the errors in the model. adaptive: factored again, its width depends on the "
    "row. jackknife+: fitted again without each fold, which needs --data.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, dir_okay=False),
    metavar="TRAINING",
    help="For jackknife+: the table the model was fitted to; it is known by its hash.",
)
@click.option(
    "--coverage",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    help="The share of true values inside intervals.",
)
@click.option("--ignore", multiple=True, metavar="CODE", help="SQ005: say nothing of drift.")
@_reading
@_saying
def predict(model: str, table: str, **options: Any) -> None:
    """Predict the rows of TABLE, in their order, with intervals or probabilities.

    \b
    squareone predict houses.squareone new.csv -o predictions.csv --columns address
    """  # noqa: D301
    from .predict_command import run

    if options["intervals"] == "jackknife+" and not options["data"]:
        msg = "jackknife+ fits again: name the table the model was fitted to, --data TRAINING"
        raise click.UsageError(msg)
    if options["as_json"] and not options["output"]:
        msg = "--json describes what was written: say where the predictions go, -o NAME.csv"
        raise click.UsageError(msg)
    run(model, table, options, _console(options))


@cli.command()
@click.argument("models", type=click.Path(exists=True, dir_okay=False), nargs=-1, required=True)
@_saying
def inspect(models: tuple[str, ...], **options: Any) -> None:
    """Show what a model was fitted to, what was chosen and how far off it is; or several."""
    from .inspect_command import run

    run(models, _console(options), _echo)


_DATA = click.option(
    "--data",
    required=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="TRAINING",
    help="The table the model was fitted to; it is known by its hash.",
)
_QUICK = click.option("--quick", is_flag=True, help="One kernel only.")


def _echo(text: str) -> None:
    click.echo(clean(text))


@cli.command()
@_TABLE
@_fitting
@_QUICK
@_reading
@_saying
def plan(table: str, **options: Any) -> None:
    """Show what a fit to TABLE would do and what it costs; nothing is fitted."""
    from .other_commands import run_plan

    run_plan(table, options, _console(options), _echo)


@cli.command()
@_TABLE
@_fitting
@_QUICK
@click.option("--rows", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="By default stdout, as CSV.")
@_FORCE
@_reading
@_saying
def suspects(table: str, **options: Any) -> None:
    """List the rows of TABLE whose target the other rows do not believe, as a table to correct."""
    from .other_commands import run_suspects

    run_suspects(table, options, _console(options))


@cli.command()
@_TABLE
@_fitting
@_QUICK
@_reading
@_saying
def compare(table: str, **options: Any) -> None:
    """Compare with guessing, a linear model, a forest and boosted trees, on the same folds."""
    from .other_commands import run_compare

    run_compare(table, options, _console(options), _echo)


@cli.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@_TABLE
@_DATA
@click.option(
    "--row", type=click.IntRange(1), required=True, help="Of TABLE, from 1 on, without the header."
)
@click.option("--most", type=click.IntRange(1), default=5, show_default=True, help="Rows to list.")
@_reading
@_saying
def explain(model: str, table: str, **options: Any) -> None:
    """Show which training rows speak most for and against the prediction of a row of TABLE."""
    from .other_commands import run_explain

    run_explain(model, table, options, _console(options), _echo)


@cli.command()
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@_DATA
@click.option(
    "--quick", is_flag=True, help="Take the error by which the model was chosen: optimistic."
)
@click.option("--show-rows", is_flag=True, help="Show values of rows.")
@click.option("--ignore", multiple=True, metavar="CODE", help="A check to leave out.")
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="By default MODEL.html.")
@_FORCE
@_reading
@_saying
def report(model: str, **options: Any) -> None:
    """Write the report of MODEL again, from the table it was fitted to."""
    from .other_commands import run_report

    run_report(model, options, _console(options))


@cli.command()
@_TABLE
@click.option("--text", metavar="COLUMN", help="The column of text to learn from and to show.")
@click.option("--columns", metavar="A,B,C", help="Columns to learn from and to show, instead.")
@click.option(
    "--labels",
    metavar="A,B|COLUMN",
    help="The labels, or a column in which some rows have one; more can be added on the page.",
)
@click.option(
    "--id", metavar="COLUMN", help="By which rows are known; by default by all their cells."
)
@click.option(
    "--instructions",
    type=click.Path(exists=True, dir_okay=False),
    help="A text for who labels, shown in a panel.",
)
@click.option(
    "--count",
    type=click.Choice(["labels", "rarer"]),
    default="labels",
    show_default=True,
    help="rarer goes on asking where a class is rare.",
)
@click.option(
    "--strategy",
    type=click.Choice(["deterministic", "randomized"]),
    default="deterministic",
    show_default=True,
    help="How a row is chosen: by its margin, or by chance.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Of the order of rows, when the file is begun; annotators share one.",
)
@click.option("--annotator", metavar="NAME", help="Who labels; by default the name of the account.")
@click.option(
    "--import",
    "import_",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Labels that Label Studio or Prodigy exported; repeat for more.",
)
@click.option(
    "--merge",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="The .labels.db of somebody else; repeat for more.",
)
@click.option(
    "--export",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write NAME.labels.csv, .predictions.csv, .model.squareone and the like; no page.",
)
@click.option("--backup", type=click.Path(dir_okay=False), help="Copy the labels, also in use.")
@click.option("--labels-file", type=click.Path(dir_okay=False), help="By default TABLE.labels.db.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default a free one.")
@click.option("--no-browser", is_flag=True, help="Show a link instead of opening a browser.")
@click.option("--no-page", is_flag=True, help="Import and merge only.")
@click.option("--memory", help="What features may take at most, such as 2GiB.")
@_FORCE
@_reading
@_saying
def label(table: str, **options: Any) -> None:
    """Label the rows of TABLE on a page, asked only about those that are worth it.

    \b
    squareone label mails.csv --text body --labels spam,ham

    Everything is in mails.csv.labels.db, row by row as it is answered. The page is for this machine
    alone.
    """  # noqa: D301
    from .label_command import run

    run(table, options, _console(options))


def main() -> None:
    """The command ``squareone``: quiet where a pipe breaks or somebody interrupts."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # files that are being written are removed on the way out
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = cli.main(prog_name="squareone", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except (click.Abort, KeyboardInterrupt):
        code = 128 + signal.SIGINT
    sys.exit(code if isinstance(code, int) else 0)


def _terminated(number: int, frame: object) -> None:
    """Files that are being written are removed on the way out."""
    sys.exit(128 + number)
