"""What pytest leaves alone: modules whose library is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/squareone/devices/torch_*.py"]
if not (find_spec("dask") and find_spec("distributed")):
    collect_ignore_glob += ["src/squareone/rows/dask_*.py", "docs/guide/cluster.rst"]
    collect_ignore_glob += ["src/squareone/estimators/lazy_predictions.py"]
