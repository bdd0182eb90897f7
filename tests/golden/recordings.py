"""The recorded cases that topics support, file by file."""

from pathlib import Path

import pytest

from karmada.testing.golden.run import case_files
from karmada.testing.golden.topics import TOPICS

SHARED = Path(__file__).parents[3] / "shared" / "golden"
SUPPORTED = {topic.name for topic in TOPICS}


def files(root: Path, *, interpreters: bool) -> list[object]:
    """The files below a folder that may be absent: those of interpreters, or those of everything else."""
    return [
        pytest.param(file, id=f"{root.parent.name}-{file.relative_to(root).with_suffix('')}")
        for file in (case_files(root) if root.is_dir() else ())
        if SUPPORTED & (folders := set(file.relative_to(root).parts[:-1]))
        if any(folder.startswith("interpreter") for folder in folders) is interpreters
    ]
