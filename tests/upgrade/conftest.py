"""`make upgrade-test` runs the matrix, and nothing else does: it needs the repository's history, and minutes.

`KARMADA_UPGRADE=last`, as in CI, runs it with the last landed version only.
"""

import os

WANTED = os.environ.get("KARMADA_UPGRADE", "")
collect_ignore = [] if WANTED else ["matrix"]
COMMITS = ("060d598", "18a45ed")
"""The last two landed versions, the newest first; `data` has a directory of each."""
MATRIX = COMMITS[:1] if WANTED == "last" else COMMITS
"""Those that run beside this one."""
