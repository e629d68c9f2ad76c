"""A folder or a file that cannot be written to, as the page says it: for who is not root."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from squareone.labelling.journal import read_journal

from .conftest import Client, Page, write_mails

pytestmark = pytest.mark.thorough
NOBODY = 65534


@pytest.fixture
def user():
    """What a command begins with, so that what may not be written to is not."""
    if not hasattr(os, "geteuid"):
        pytest.skip("modes are of POSIX")
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        pytest.skip("root may write everywhere, and there is no setpriv")
    found = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    done = subprocess.run([*found, sys.executable, "-c", "import squareone"], check=False)
    if done.returncode:
        pytest.skip("somebody else than root cannot run this interpreter")
    return found


@pytest.fixture
def table(user):
    """mails.csv in a folder of that user."""
    with tempfile.TemporaryDirectory() as folder:
        table = write_mails(Path(folder) / "mails.csv", 60)
        for path in (Path(folder), table):
            if user:
                os.chown(path, NOBODY, NOBODY)
        yield table


def test_a_folder_that_cannot_be_written_to_is_said_and_the_answer_kept(table, user):
    page = Page(table, user=user)
    try:
        client = Client(page)
        question = client.next()

        def answer(uuid):
            told = {"question": question["question"], "row": question["row"], "uuid": uuid}
            return client.post("answer", kind="answer", label="spam", **told)

        assert answer("one").status_code == 200
        question = client.next()
        table.parent.chmod(0o500)
        refused = answer("two")
        assert refused.status_code == 507
        assert "cannot be written to" in refused.json()["error"]
        assert client.post("undo", uuid="three").status_code == 507
        table.parent.chmod(0o700)
        assert answer("two").status_code == 200  # as the page tries again
        client.close()
    finally:
        table.parent.chmod(0o700)
        page.end()
    _, events = read_journal(f"{table}.labels.db")
    assert [event.uuid for event in events if event.kind != "label_added"] == ["one", "two"]


def test_a_file_that_cannot_be_written_to_is_said_at_the_start(table, user):
    command = [*user, sys.executable, "-m", "squareone", "label", str(table), "--text", "body"]
    command += ["--labels", "spam,ham", "--no-page"]
    run = {"capture_output": True, "text": True, "check": False, "timeout": 120}
    assert subprocess.run(command, **run).returncode == 0
    Path(f"{table}.labels.db").chmod(0o400)
    done = subprocess.run([*command[:-2], "spam,ham,more", "--no-page"], **run)
    assert done.returncode == 1
    assert "cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr
