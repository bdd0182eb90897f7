"""The two commands a newcomer types, as they type them."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.standalone.test_first_contact import until_ctrl_c, widest

PROGRAM = [sys.executable, "-m", "karmada.standalone.main"]


def karmada(*arguments: str, home: Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *arguments],
        env={**os.environ, "KARMADA_HOME": str(home), "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.mark.tools
def test_the_demo_runs_nginx_in_three_clusters_and_leaves_nothing_behind(tmp_path: Path) -> None:
    outcome = karmada("demo", home=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    for member in ("member1", "member2", "member3"):
        assert f"  {member}             3      3  Healthy" in outcome.stdout
    assert "✗ member member3  it cannot be asked" in outcome.stdout
    assert "What to do: Bring member3 back" in outcome.stdout
    assert outcome.stdout.index("What to do") < outcome.stdout.index("member3 is back")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.tools
@pytest.mark.parametrize("colour", [True, False], ids=["colours", "NO_COLOR"])
def test_the_demo_fits_a_terminal_and_paints_its_marks(colour: bool) -> None:
    environment = {} if colour else {"NO_COLOR": "1"}
    with tempfile.TemporaryDirectory(prefix="k") as short:
        text = until_ctrl_c(["demo"], 80, "Ctrl-C ends it.", TMPDIR=short, **environment)
    assert widest(text) <= 80
    assert ("\033[31m✗\033[0m member member3" in text, "\033[32m✓\033[0m policy" in text) == (colour, colour)
    assert ("\033[3" in text) is colour


@pytest.mark.tools
def test_a_federation_is_started_looked_at_and_stopped(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "federation")]
    assert karmada("status", *data, home=tmp_path).returncode == 1
    started = karmada("up", "--members", "1", "--detach", *data, home=tmp_path)
    try:
        assert started.returncode == 0, started.stderr
        second = karmada("up", "--detach", *data, home=tmp_path)
        assert second.returncode == 1
        assert "a federation is running in" in second.stderr
        status = karmada("status", *data, home=tmp_path)
        assert "member1              ready" in status.stdout
        kubeconfig = Path(karmada("kubeconfig", *data, home=tmp_path).stdout.strip())
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
    finally:
        stopped = karmada("down", *data, home=tmp_path)
    assert stopped.stdout == "stopped\n"
    assert karmada("status", *data, home=tmp_path).returncode == 1


def test_a_directory_of_a_newer_version_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("99\n")
    outcome = karmada("up", "--data", str(tmp_path), home=tmp_path)
    assert outcome.returncode == 1
    assert "was made by a newer version" in outcome.stderr
