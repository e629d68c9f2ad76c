"""Text files of tables as programs write them: what is above the names, and lines in messages."""

import io

import pytest

pytest.importorskip("pyarrow")

from squareone.errors import TableFileError
from squareone.rows.table_reader import read_table

NAMES = ["town", "rent", "size"]
ROWS = [["Rome", "12,5", "80"], ["Bari", "7,0", "65"], ["Oslo", "9,25", "50"]]
TABLE = "\n".join(";".join(row) for row in [NAMES, *ROWS]) + "\n"


def read(text, **options):
    return read_table(io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize(
    "above", ["", "\n\n", "sep=;\n", "\ufeffsep=;\n", '"sep=;"\n', "SEP=;\r\n", "\nsep=;\n\n"]
)
def test_lines_above_the_names(above):
    file = read(above + TABLE)
    assert file.table.column_names == NAMES
    assert file.table.column("rent").to_pylist() == [12.5, 7.0, 9.25]
    assert file.said() == "semicolons between columns, utf-8, decimal commas"
    assert file.line(0) == above.count("\n") + 2


def test_the_delimiter_that_a_line_states_may_be_any_and_an_option_wins():
    odd = TABLE.replace(";", "~")
    assert read(f"sep=~\n{odd}").table.column_names == NAMES
    assert read(f"sep=;\n{odd}", delimiter="~").table.column_names == NAMES
    # a name, and no statement, where it is in the line of names
    assert read("sep=;town\n1;2\n3;4\n").table.column_names == ["sep=", "town"]


@pytest.mark.parametrize("above", ["", "\n\n", "sep=;\n"])
def test_lines_in_messages_are_those_of_the_file(above):
    lines = above.count("\n")
    ragged = TABLE.replace("Bari;", "")
    with pytest.raises(TableFileError, match=f"line {lines + 3}: '.*': 2 values where there are 3"):
        read(above + ragged)
    with pytest.raises(TableFileError, match=f"line {lines + 1}, column 'town': 2 columns"):
        read(above + TABLE.replace("size", "town"))
    units = TABLE.replace("Rome", ";EUR;m2\nRome", 1)
    with pytest.raises(TableFileError, match=f"line {lines + 2}, .*second line of names or units"):
        read(above + units)


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x1e", "\x85", "\u2028"])
def test_only_ends_of_lines_end_lines(sign):
    """``str.splitlines`` knows more of them than programs that write tables."""
    file = read(TABLE.replace("size", f"si{sign}ze").replace("Bari", f"Ba{sign}ri"))
    assert file.table.column_names == ["town", "rent", f"si{sign}ze"]
    assert file.table.column("town").to_pylist()[1] == f"Ba{sign}ri"
