"""Completion in a real shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal
from tests.cli.world import World
from tests.programs import kubectl

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


STARTS = {
    "bash": (["--norc", "--noprofile", "-i"], "PS1='ready> '; source <(karmadactl completion bash)\r"),
    "zsh": (
        ["-f", "-i"],
        "PS1='ready> '; autoload -U compinit; compinit -D; source <(karmadactl completion zsh)\r",
    ),
    "zsh by its folder": (
        ["-f", "-i"],
        "PS1='ready> '; mkdir ~/f; karmadactl completion zsh > ~/f/_karmadactl; fpath=(~/f $fpath); "
        "autoload -U compinit; compinit -D\r",
    ),
    "fish": (
        ["--no-config", "-i"],
        "function fish_prompt; echo -n 'ready> '; end; karmadactl completion fish | source\r",
    ),
}
OWN = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
OWNER = (sys.executable, "-c", OWN)
"""Makes the terminal that of the program: shells insist."""
SHELLS = [shell for shell in STARTS if shutil.which(shell.split()[0])]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_what_is_typed(federation: World, program: Path, tmp_path: Path, shell: str) -> None:
    words, start = STARTS[shell]
    shell = shell.split()[0]
    home = {"HOME": str(tmp_path), "PATH": f"{program}:{os.environ['PATH']}", "XDG_DATA_HOME": str(tmp_path)}
    terminal = Terminal(federation, words, program=[*OWNER, shutil.which(shell) or shell], **home)
    terminal.type(start)
    terminal.until("ready> ")
    terminal.type("echo settled-$((40 + 2))\r" if shell != "fish" else "echo settled-(math 40 + 2)\r")
    terminal.until("settled-42")
    terminal.until("ready> ")
    terminal.type("echo karmadactl unj\x01\x1b[C")  # stays on the line; the shell is alive and edits
    terminal.type("\x05\x15")
    terminal.type("karmadactl unj\t")
    terminal.until("unjoin")
    terminal.type("\x15karmadactl get clusters member2 -s memb\t")
    terminal.until("members")
    terminal.type("\x15karmadactl cordon member\t\t")
    terminal.until("member3")
    terminal.type("\x15exit\r")
    assert terminal.end() == 0


@pytest.mark.tools
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["get", "deploym"], "deployments\n:4\n"),
        (["cordon", "member1"], "member1\n:4\n"),
        (["get", "pods", "-o", "jsonp"], "jsonpath=\n:6\n"),
        (["nosuch", "x"], ":0\n"),
    ],
)
def test_kubectl_completes_its_plugin(federation: World, tmp_path: Path, words: list[str], expected: str) -> None:
    for name, function in (("kubectl-karmada", "kubectl_karmada"), ("kubectl_complete-karmada", "kubectl_complete")):
        script = tmp_path / name
        script.write_text(f"#!{sys.executable}\nimport sys\nfrom karmada.cli.entry import {function}\n")
        with script.open("a") as file:
            file.write(f"sys.exit({function}())\n")
        script.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "KUBECONFIG": str(federation.kubeconfig)}
    command = [kubectl(), "__complete", "karmada", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == expected
