"""One package on one scene, in an interpreter that has it: python peer_runs PEER SCENE BUDGET."""

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from peer_scenes import task  # noqa: E402

importlib.import_module(f"{sys.argv[1]}_run").run(task(sys.argv[2]), float(sys.argv[3]))
