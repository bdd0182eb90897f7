"""Completion in a real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.world import World

BASH = shutil.which("bash")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with karmadactl in it."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "karmadactl"
    script.write_text(
        f"#!{sys.executable}\nimport sys\nfrom karmada.cli.entry import karmadactl\nsys.exit(karmadactl())\n"
    )
    script.chmod(0o755)
    return folder


def offered(federation: World, program: Path, line: str) -> list[str]:
    """What bash offers at the end of a line."""
    assert BASH is not None, "bash is part of every system this runs on"
    # Words are split as the line editor splits them: = stands alone.
    words = line.replace("=", " = ").split(" ") if "=" in line else line.split(" ")
    array = " ".join(f"'{word}'" for word in words)
    script = f"""
source <(karmadactl completion bash)
COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}
__karmadactl_complete
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = os.environ | {"PATH": f"{program}:{os.environ['PATH']}", "KUBECONFIG": str(federation.kubeconfig)}
    done = subprocess.run([BASH, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("karmadactl unj", ["unjoin"]),
        ("karmadactl token cr", ["create"]),
        ("karmadactl cordon --dry", ["--dry-run"]),
        ("karmadactl get pods -s mem", ["members"]),
        ("karmadactl get deploym", ["deployments"]),
        ("karmadactl cordon mem", ["member1", "member2", "member3"]),
        (
            "karmadactl get clusters member1 member2 -C member3,mem",
            ["member3,member1", "member3,member2", "member3,member3"],
        ),
        ("karmadactl get namespaces karmada-cl", ["karmada-cluster"]),
        ("karmadactl describe namespace/karmada-cl", ["namespace/karmada-cluster"]),
        ("karmadactl completion f", ["fish"]),
        ("karmadactl nosuch x", []),
    ],
)
def test_bash_offers(federation: World, program: Path, line: str, expected: list[str]) -> None:
    assert offered(federation, program, line) == expected


def test_bash_completes_values_after_an_equals_sign(federation: World, program: Path) -> None:
    assert offered(federation, program, "karmadactl get pods --operation-scope=mem") == ["members"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_a_script(federation: World, shell: str) -> None:
    outcome = federation.run("completion", shell)
    assert outcome.code == 0
    assert "__complete" in outcome.out


def test_an_unknown_shell_is_refused(federation: World) -> None:
    outcome = federation.run("completion", "tcsh")
    assert outcome == (1, "", 'error: unsupported shell type "tcsh": one of bash, zsh, fish\n')
