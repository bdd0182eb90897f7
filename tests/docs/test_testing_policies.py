"""The example of docs/testing-policies.md, written to files and run as a reader would."""

import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs/testing-policies.md"
BLOCK = re.compile(r"^```\w+ file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_documented_tests_pass(tmp_path: Path) -> None:
    for name, text in BLOCK.findall(DOCUMENT.read_text()):
        (tmp_path / name).write_text(text)
    outcome = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-o", "asyncio_mode=auto", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stdout
    assert "3 passed" in outcome.stdout
