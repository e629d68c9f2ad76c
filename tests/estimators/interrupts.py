"""An interrupt at any line of the library, for tests of what is left afterwards."""

import os
import sys

import squareone

# Threads have locks, which a tracer's exception may leave closed; the others put things back.
_LEFT_ALONE = ("threads.py",)
_PUTTING_BACK = ("roll_back", "_put_back", "_forget")
_HERE = os.path.dirname(squareone.__file__)


def lines_of(call):
    """How many lines of the library a call runs through."""
    return _run(call, -1)[1]


def interrupted(call, at):
    """Interrupt a call at its so-many-th line; whether it got there."""
    return _run(call, at)[0]


def _run(call, at):
    count = 0

    def line(frame, event, arg):
        nonlocal count
        if event == "line":
            count += 1
            if count == at:
                raise KeyboardInterrupt
        return line

    def entered(frame, event, arg):
        code = frame.f_code
        ours = code.co_filename.startswith(_HERE) and not code.co_filename.endswith(_LEFT_ALONE)
        return line if ours and code.co_name not in _PUTTING_BACK else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    except KeyboardInterrupt:
        return True, count
    finally:
        sys.settrace(before)
    return False, count
