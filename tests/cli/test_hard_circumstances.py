"""No network, a full disk, and a process that is killed: nothing half done is left."""

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.browser import unshared

from .conftest import houses, text_of

FIT = [
    *(sys.executable, "-m", "squareone", "fit", "houses.csv", "--target", "price"),
    *("--drop", "dear", "--kernel", "linear", "--quick"),
]


def without_a_network(*arguments):
    """A command where there is no network at all."""
    return subprocess.run(
        [*unshared("-rn"), sys.executable, *arguments], capture_output=True, text=True, check=False
    )


def test_a_model_is_fitted_without_a_network(table):
    code = "import socket; socket.create_connection(('127.0.0.1', 9))"
    assert "unreachable" in without_a_network("-c", code).stderr
    done = without_a_network(*FIT[1:])
    assert done.returncode == 0, done.stderr
    assert (table.parent / "houses.html").exists()


@pytest.mark.thorough
def test_all_commands_work_without_a_network(table):
    """A whole fit, and what may follow."""
    whole = [each for each in FIT[1:] if each != "--quick"]
    chosen = whole[3:]
    data = ["--data", "houses.csv"]
    for command in (
        ["-m", "squareone", "plan", *chosen],
        whole,
        ["-m", "squareone", "predict", "houses.squareone", "houses.csv", "-o", "out.csv"],
        ["-m", "squareone", "inspect", "houses.squareone"],
        ["-m", "squareone", "report", "houses.squareone", *data, "-o", "again.html"],
        ["-m", "squareone", "explain", "houses.squareone", "houses.csv", "--row", "1", *data],
        ["-m", "squareone", "suspects", *chosen],
        ["-m", "squareone", "compare", *chosen],
    ):
        done = without_a_network(*command)
        assert done.returncode == 0, (command, done.stderr)
    made = {path.name for path in table.parent.iterdir()}
    assert made == {"houses.csv", "houses.squareone", "houses.html", "out.csv", "again.html"}


@pytest.mark.parametrize(
    ("required", "outcome"), [("", pytest.skip.Exception), ("required", pytest.fail.Exception)]
)
def test_what_cannot_be_tested_is_a_failure_where_it_has_to_be(monkeypatch, required, outcome):
    monkeypatch.setenv("SQUAREONE_BROWSER", required)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(outcome, match="unshare is not there"):
        unshared("-rn")


@pytest.mark.thorough
def test_a_full_disk_is_told_and_leaves_nothing(table):
    script = (
        "mkdir small && mount -t tmpfs -o size=16k tmpfs small && "
        f"{' '.join(FIT)} -o small/m.squareone; echo code $?; ls -A small"
    )
    done = subprocess.run(
        [*unshared("-rm"), "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert "No space left on device" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == "code 1\n"


@pytest.mark.thorough
def test_no_room_for_a_table_that_is_left_on_the_disk(table):
    script = (
        "mkdir small && mount -t tmpfs -o size=4k tmpfs small && "
        f"TMPDIR=$PWD/small {' '.join(FIT)} --memory 1KiB -o m.squareone; echo code $?; ls -A small"
    )
    done = subprocess.run(
        [*unshared("-rm"), "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert "small: No space left on device" in done.stderr, done.stderr
    assert done.stdout == "code 1\n"


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_is_refused_before_any_work(table):
    script = (
        "mkdir fixed && mount -t tmpfs -o ro tmpfs fixed && "
        f"{' '.join(FIT)} -o fixed/m.squareone; echo code $?"
    )
    done = subprocess.run(
        [*unshared("-rm"), "sh", "-c", script], capture_output=True, text=True, check=False
    )
    assert "nothing can be written into the folder fixed" in done.stderr, done.stderr
    assert "rows" not in done.stderr  # the table was not read
    assert done.stdout == "code 1\n"


@pytest.mark.parametrize(
    "with_signal",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.thorough),
        pytest.param(signal.SIGKILL, marks=pytest.mark.thorough),
    ],
)
def test_killed_in_the_middle_no_half_file_is_there(tmp_path, with_signal):
    (tmp_path / "houses.csv").write_text(text_of(*houses(1200)))
    command = [each if each != "linear" else "auto" for each in FIT]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ) as process:
        process.stderr.readline()  # it has read the table
        time.sleep(0.2)
        process.send_signal(with_signal)
        said = process.stderr.read()
        code = process.wait()
    assert code in (130, 143, -signal.SIGKILL)
    assert b"Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["houses.csv"]


def test_an_interrupt_while_it_is_loaded_is_quiet(tmp_path):
    """A stand-in for the first library that is imported interrupts, as Ctrl-C may."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "squareone", "--version"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == -signal.SIGINT
    assert done.stderr == ""
