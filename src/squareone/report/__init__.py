"""Report: what a fit found and what it cost, as a text or as figures.

:func:`summary` says in a few lines which kernel, λ and solver a fitted estimator has, how well it
predicts unseen rows, and what that cost. The displays draw, in scikit-learn's manner, by
``from_estimator``: :class:`PathDisplay` (:func:`path_figure`) and :class:`WidthMapDisplay` what was
looked at, :class:`KernelChoiceDisplay` what a kernel was chosen from, :class:`GreedyPathDisplay`
the models of a greedy fit, :class:`HingePathDisplay` and :class:`MarginDisplay` the path and the
margins of a support vector machine, :class:`LeaveOneOutDisplay`,
:class:`LeaveOneOutRocDisplay`, :class:`LeaveOneOutPrecisionRecallDisplay` and
:class:`LeaveOneOutCalibrationDisplay` how well rows are predicted that were left out,
:class:`IntervalDisplay` how sure that is, and :class:`LeverageDisplay` which rows matter.
:func:`html` writes all that is to be said of a model of a table into one file that one can send.
"""

from .calibration import LeaveOneOutCalibrationDisplay
from .greedy_figure import GreedyPathDisplay
from .hinge_path_figure import HingePathDisplay
from .html_report import HtmlReport, html
from .interval_figure import IntervalDisplay
from .kernel_choice_figure import KernelChoiceDisplay
from .leave_one_out import LeaveOneOutDisplay
from .leverages import LeverageDisplay
from .margin_figure import MarginDisplay
from .path_figure import PathDisplay, path_figure
from .ranking import LeaveOneOutPrecisionRecallDisplay, LeaveOneOutRocDisplay
from .summary import summary
from .width_map import WidthMapDisplay

__all__ = [
    "GreedyPathDisplay",
    "HingePathDisplay",
    "HtmlReport",
    "IntervalDisplay",
    "KernelChoiceDisplay",
    "LeaveOneOutCalibrationDisplay",
    "LeaveOneOutDisplay",
    "LeaveOneOutPrecisionRecallDisplay",
    "LeaveOneOutRocDisplay",
    "LeverageDisplay",
    "MarginDisplay",
    "PathDisplay",
    "WidthMapDisplay",
    "html",
    "path_figure",
    "summary",
]
