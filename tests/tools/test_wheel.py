"""The wheel is reproducible: the same source gives the same bytes, wherever and whenever it is built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("pyproject.toml", "README.md", "LICENSE", ".gitignore")
ANOTHER_TIME = 1_000_000_000


def built(folder: Path) -> bytes:
    """The wheel of a copy of the source, as `make wheel` builds it."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run(
        [*command, "--no-build-isolation", "--no-cache-dir", "-w", "dist", "."],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "SOURCE_DATE_EPOCH"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel.read_bytes()


def test_the_same_source_gives_the_same_wheel(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second" / "elsewhere"
    for folder in (first, second):
        shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in NEEDED:
            shutil.copy(ROOT / name, folder / name)
    for path in [second, *second.rglob("*")]:
        os.utime(path, (ANOTHER_TIME, ANOTHER_TIME))
    (second / "src" / "karmada" / "__init__.py").chmod(0o664)
    assert built(first) == built(second)
