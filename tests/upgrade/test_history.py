"""Versions of the past are found in a shallow checkout, too; where nobody has them, a sentence says so."""

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.upgrade.history import extract

pytestmark = pytest.mark.tools


def git(folder: Path, *words: str) -> str:
    own = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *own, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with two versions."""
    folder = tmp_path / "origin"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "--quiet")
    for version in ("1", "2"):
        (folder / "src" / "version").write_text(version)
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", version)
    return folder


def cloned(origin: Path, *flags: str) -> Path:
    target = origin.parent / "checkout"
    git(origin.parent, "clone", "--quiet", *flags, origin.as_uri(), str(target))
    return target


@pytest.mark.parametrize("flags", [(), ("--depth=1",)], ids=["full", "shallow"])
def test_an_earlier_version_is_unpacked_from_any_checkout(origin: Path, flags: tuple[str, ...], tmp_path: Path) -> None:
    earlier = git(origin, "rev-parse", "HEAD~1")
    checkout = cloned(origin, *flags)
    extract(earlier, tmp_path / "tree", checkout)
    assert (tmp_path / "tree" / "src" / "version").read_text() == "1"
    assert len(git(checkout, "rev-list", "HEAD").splitlines()) == (1 if flags else 2), "the checkout was changed"


def test_a_version_that_nobody_has_is_named(origin: Path, tmp_path: Path) -> None:
    earlier = git(origin, "rev-parse", "HEAD~1")
    checkout = cloned(origin, "--depth=1")
    shutil.rmtree(origin)
    with pytest.raises(pytest.skip.Exception, match=f"^needs the history of main with commit {earlier[:7]}, which"):
        extract(earlier, tmp_path / "tree", checkout)
