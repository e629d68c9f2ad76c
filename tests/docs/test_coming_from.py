"""Every parameter of the classes of scikit-learn that the page translates is on it."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.svm import SVC, LinearSVC

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.rst").read_text()
SECTIONS = {
    "KernelRidge": [KernelRidge],
    "RidgeCV and RidgeClassifierCV": [RidgeCV, RidgeClassifierCV],
    "SVC and LinearSVC": [SVC, LinearSVC],
    "GaussianProcessRegressor": [GaussianProcessRegressor],
}


def translated(section):
    """The names of parameters on the left of a section's table."""
    text = re.search(f"^{section}\n-+\n(.*?)(?=^-+$|\\Z)", PAGE, flags=re.M | re.S)[1]
    code = " ".join(re.findall(r"^   \* - (.*)$", text, flags=re.M))
    literals = re.findall(r"``(.*?)``", code)
    return {name for each in literals for name in re.findall(r"(?:^|[(,]\s*)(\w+)(?==|$)", each)}


def missing(section, classes):
    """Parameters that are not there, but for those that are going away."""
    names = {
        name
        for each in classes
        for name, parameter in inspect.signature(each).parameters.items()
        if parameter.default != "deprecated"
    }
    return names - translated(section)


@pytest.mark.parametrize("section", SECTIONS)
def test_every_parameter_is_translated(section):
    assert missing(section, SECTIONS[section]) == set()


def test_one_that_is_not_translated_is_found():
    class Another(KernelRidge):
        def __init__(self, kernel="linear", *, bandwidth=1.0):
            pass

    assert missing("KernelRidge", [Another]) == {"bandwidth"}
