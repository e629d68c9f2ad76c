"""What pytest leaves alone: modules whose library is not installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["src/squareone/devices/torch_*.py"]
