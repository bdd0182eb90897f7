"""Commands that only look at files are called by scripts, often: what they load is part of their contract."""

import subprocess
import sys

import pytest

CONTROL_PLANE = ("karmada.apiserver", "karmada.machinery.client", "karmada.membership", "asyncio")


@pytest.mark.parametrize("command", ["kubeconfig", "gateway", "version", "logs"])
def test_a_command_about_files_loads_nothing_of_a_control_plane(command: str, tmp_path) -> None:
    words = [command] if command == "version" else [command, "--data", str(tmp_path)]
    program = f"import sys; from karmada.standalone.main import main; main({words!r}); print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert {name for name in output.split() if name.startswith(CONTROL_PLANE)} == set()


def test_the_process_that_watches_the_others_loads_no_api_server() -> None:
    program = "import sys, karmada.standalone.up; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True).stdout
    assert "karmada.apiserver.catalog" not in output.split()
