"""Planning: which solver, from shapes alone, with its memory and its expected seconds."""

from ..solvers.contract import Task
from .plan import Plan, Preliminaries, choose_centers, make_plan, plan_after

__all__ = ["Plan", "Preliminaries", "Task", "choose_centers", "make_plan", "plan_after"]
