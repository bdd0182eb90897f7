"""Source of the past, from the repository's history; from its remotes where the checkout is shallow."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FETCH_SECONDS = 300


def extract(commit: str, folder: Path, repository: Path = ROOT) -> None:
    """Unpack `src` of a commit, whose id is in full, into a folder; skips the test where nobody has the commit."""
    packed, why = _archived(commit, repository)
    # A copy beside it: the checkout itself stays as shallow as it was made.
    copy = folder / "history.git"
    for remote in _lines(repository, "remote") if not packed else ():
        folder.mkdir(parents=True, exist_ok=True)
        url = _lines(repository, "remote", "get-url", remote)[0]
        _git(folder, "init", "--bare", "--quiet", str(copy))
        _git(copy, "fetch", "--quiet", "--depth=1", url, commit)
        packed, why = _archived(commit, copy)
        if packed:
            break
    if not packed:
        pytest.skip(
            f"needs the history of main with commit {commit[:7]}, which neither this checkout nor a remote has: {why}"
        )
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["tar", "-x", "-C", folder], input=packed, check=True)


def _archived(commit: str, repository: Path) -> tuple[bytes, str]:
    """The source of a commit as an archive, or why there is none."""
    done = _git(repository, "archive", commit, "src")
    return (b"", done.stderr.decode().strip()) if done.returncode else (done.stdout, "")


def _lines(repository: Path, *words: str) -> list[str]:
    return _git(repository, *words).stdout.decode().splitlines()


def _git(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, timeout=FETCH_SECONDS, check=False)
