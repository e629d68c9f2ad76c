"""The number of threads every contestant may use.

Import this before numpy: the numerical libraries read their environment once, when they load.
"""

import os

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_DEFAULT = 2


def pin_threads() -> int:
    """Give all numerical libraries the same number of threads, and return it.

    ``OMP_NUM_THREADS`` decides when it is set; otherwise it is two. The environment is inherited
    by the fresh processes that measure memory and imports.
    """
    count = int(os.environ.get("OMP_NUM_THREADS", _DEFAULT))
    if count < 1:
        raise ValueError(f"OMP_NUM_THREADS is {count}; set it to a positive number or leave it out")
    os.environ.update(dict.fromkeys(_VARIABLES, str(count)))
    return count
