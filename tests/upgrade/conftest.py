"""`make upgrade-test` runs the matrix, and nothing else does: it needs the repository's history, and minutes.

`KARMADA_UPGRADE=last`, as in CI, runs it with the last landed version only.
"""

import os

WANTED = os.environ.get("KARMADA_UPGRADE", "")
collect_ignore = [] if WANTED else ["matrix"]
COMMITS = {
    "b9f4299": "b9f42994398d08ab3d17cbb49c29a51ce90ffce5",
    "4eafe85": "4eafe8533cee0decac3f406ba94a7ca0707e3714",
}
"""The last two landed versions, the newest first, and their ids in full; `data` has a directory of each."""
MATRIX = list(COMMITS)[:1] if WANTED == "last" else list(COMMITS)
"""Those that run beside this one."""
