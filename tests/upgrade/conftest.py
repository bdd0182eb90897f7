"""`make upgrade-test` runs the matrix, and nothing else does: it needs the repository's history, and minutes."""

import os

collect_ignore = [] if os.environ.get("KARMADA_UPGRADE") else ["matrix"]
COMMITS = ("18a45ed", "7345cd4")
"""The last two landed versions, the newest first; `data` has a directory of each."""
