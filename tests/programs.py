"""The real kubectl for tests: found on PATH, in the cache, or built into it by Go from its module proxy.

`tools/go.mod` says the version. Building takes minutes the first time; whoever comes second waits for the first.
"""

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "karmada" / "bin"


@cache
def kubectl() -> str:
    """Where it is; skips the test where there is neither kubectl nor Go."""
    found = shutil.which("kubectl") or shutil.which("kubectl", path=str(CACHE))
    if found is not None:
        return found
    if shutil.which("go") is None:
        pytest.skip("needs Go to build kubectl, which is not on PATH")
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".building-kubectl").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        target = CACHE / "kubectl"
        if not target.exists():
            unfinished = CACHE / ".kubectl"
            command = ["go", "build", "-trimpath", "-ldflags", "-s -w", "-o", str(unfinished), "./kubectl"]
            subprocess.run(command, cwd=TOOLS, check=True, timeout=1800)
            unfinished.rename(target)
    return str(target)
