"""`make upgrade-test` runs the matrix, and nothing else does: it needs the repository's history, and minutes.

`KARMADA_UPGRADE=last`, as in CI, runs it with the last landed version only.
"""

import os

WANTED = os.environ.get("KARMADA_UPGRADE", "")
collect_ignore = [] if WANTED else ["matrix"]
COMMITS = {
    "2b870ed": "2b870ede8a27fd4c963024c9a084766be726026d",
    "b3fbeb5": "b3fbeb51ac7af5ed1f13e0c27484576756816993",
}
"""The last two landed versions, the newest first, and their ids in full; `data` has a directory of each."""
MATRIX = list(COMMITS)[:1] if WANTED == "last" else list(COMMITS)
"""Those that run beside this one."""
