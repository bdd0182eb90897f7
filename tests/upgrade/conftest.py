"""`make upgrade-test` runs the matrix, and nothing else does: it needs the repository's history, and minutes.

`KARMADA_UPGRADE=last`, as in CI, runs it with the last landed version only.
"""

import os

WANTED = os.environ.get("KARMADA_UPGRADE", "")
collect_ignore = [] if WANTED else ["matrix"]
COMMITS = {
    "9fa0cae": "9fa0cae3dfa214787ed27de0779ef00a843b3c28",
    "a6ba053": "a6ba053965f79b752cb2a86c202f957f25b111f9",
}
"""The last two landed versions, the newest first, and their ids in full; `data` has a directory of each."""
MATRIX = list(COMMITS)[:1] if WANTED == "last" else list(COMMITS)
"""Those that run beside this one."""
