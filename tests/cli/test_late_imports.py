"""Help, the version and completion load no numerical library."""

import os
import subprocess
import sys

import pytest

import squareone

_LOOK = """
import sys
sys.argv = ["squareone", *{arguments!r}]
from squareone.cli.commands import main
try:
    main()
except SystemExit as done:
    assert not done.code, done.code
heavy = {{"numpy", "scipy", "sklearn", "pyarrow", "pandas", "matplotlib", "jinja2", "joblib"}}
print("LOADED", sorted(heavy & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (["--help"], {}),
        (["--version"], {}),
        (["fit", "--help"], {}),
        (
            [],
            {
                "_SQUAREONE_COMPLETE": "bash_complete",
                "COMP_WORDS": "squareone f",
                "COMP_CWORD": "1",
            },
        ),
    ],
    ids=["help", "version", "help of a command", "completion"],
)
def test_no_numerical_library_is_loaded(arguments, environment):
    done = subprocess.run(
        [sys.executable, "-c", _LOOK.format(arguments=arguments)],
        capture_output=True,
        text=True,
        env=os.environ | environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "LOADED []" in done.stdout
    if environment:
        assert "fit" in done.stdout


def test_importing_the_package_loads_nothing():
    code = "import squareone, sys; print(any(m in sys.modules for m in ('numpy', 'sklearn')))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"


def test_all_names_are_there_and_listed():
    for name in squareone.__all__:
        assert getattr(squareone, name) is not None
        assert name in dir(squareone)
    with pytest.raises(AttributeError, match="no attribute 'RLSRegresor'"):
        _ = squareone.RLSRegresor


@pytest.mark.thorough
def test_rooms_are_attributes():
    code = "import squareone; print(squareone.centers.Uniform.__name__, squareone.errors.__name__)"
    found = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert found.split() == ["Uniform", "squareone.errors"]


@pytest.mark.thorough
def test_a_model_is_loaded_where_nothing_was_imported_before(tmp_path):
    X = [[0.0], [1.0], [2.0], [3.0]]
    squareone.RLSRegressor("linear", alpha=1.0).fit(X, [0.0, 1.0, 2.0, 3.0]).save(tmp_path / "m")
    code = f"import squareone; print(type(squareone.load({str(tmp_path / 'm')!r})).__name__)"
    found = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert found.strip() == "RLSRegressor"


def test_python_m_squareone():
    done = subprocess.run(
        [sys.executable, "-m", "squareone", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == f"squareone, version {squareone.__version__}"
