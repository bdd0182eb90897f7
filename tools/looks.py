"""How commands look on a terminal: `python tools/looks.py FOLDER`, to be looked at by a person.

Runs the demo and a federation of its own, draws `demo`, `up`, `status`, `why`, `tree`, `check`, `top`, `simulate` and
`down` on terminals of 80 and 140 columns (SVG, for light and dark pages), and writes what they print into a pipe and
with NO_COLOR.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from picture import captured, drawn

KARMADA = [sys.executable, "-c", "import sys; from karmada.cli.entry import karmada; sys.exit(karmada())"]
KARMADACTL = [sys.executable, "-c", "import sys; from karmada.cli.entry import karmadactl; sys.exit(karmadactl())"]
WIDTHS = (80, 140)
WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: nginx, namespace: default}
spec:
  replicas: 4
  selector: {matchLabels: {app: nginx}}
  template: {metadata: {labels: {app: nginx}}, spec: {containers: [{name: nginx, image: nginx}]}}
---
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: nginx, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: nginx}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
"""
COMMANDS = {
    "why": ["why", "deployment/nginx"],
    "why-absent": ["why", "deployment/ngix"],
    "why-elsewhere": ["why", "deployment/nginx", "-C", "member3"],
    "tree": ["tree", "deployment/nginx"],
    "check": ["check"],
    "top": ["top", "pods"],
    "simulate": ["simulate", "--cluster-down", "member1"],
    "simulate-taint": ["simulate", "--taint", "member1:maintenance=true:NoExecute"],
}


def main(folder: Path) -> None:
    """All pictures and texts."""
    folder.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        _draw(folder, "demo", "make demo", [*KARMADA, "demo"], width, until="Ctrl-C ends it.")
    _texts(folder, "demo", [*KARMADA, "demo"], until="Ctrl-C ends it.")
    with tempfile.TemporaryDirectory(prefix="karmada-looks-") as data:
        _federation(folder, ["--data", f"{data}/federation"], f"{data}/federation/kubeconfig")


def _federation(folder: Path, here: list[str], kubeconfig: str) -> None:
    up, down = [*KARMADA, "up", "--members", "3", "--detach", *here], [*KARMADA, "down", *here]
    for width in reversed(WIDTHS):
        _draw(folder, "up", "karmada up --members 3 --detach", up, width)
        _draw(folder, "down", "karmada down", down, width)
    _write(folder / "up-piped.txt", up)
    _write(folder / "down-piped.txt", down)
    (folder / "up-no-color.txt").write_text(captured(80, ["env", "NO_COLOR=1", *up]))
    try:
        os.environ["KUBECONFIG"] = kubeconfig
        subprocess.run([*KARMADACTL, "apply", "-f", "-"], input=WORKLOAD, text=True, check=True)
        subprocess.run([*KARMADACTL, "rollout", "status", "deployment/nginx"], check=True)
        status = [*KARMADA, "status", *here]
        commands = {name: ("karmadactl", words, [*KARMADACTL, *words]) for name, words in COMMANDS.items()}
        for name, (program, words, command) in {"status": ("karmada", ["status"], status), **commands}.items():
            for width in WIDTHS:
                _draw(folder, name, f"{program} {' '.join(words)}", command, width)
            _texts(folder, name, command)
    finally:
        subprocess.run(down, check=False)


def _draw(folder: Path, name: str, said: str, words: list[str], width: int, until: str = "") -> None:
    (folder / f"{name}-{width}.svg").write_text(drawn(said, captured(width, words, until), width))


def _texts(folder: Path, name: str, words: list[str], until: str = "") -> None:
    """What it prints where nobody looks, and where nobody wants colours."""
    _write(folder / f"{name}-piped.txt", words)
    (folder / f"{name}-no-color.txt").write_text(captured(80, ["env", "NO_COLOR=1", *words], until))


def _write(file: Path, words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    file.write_text(done.stdout + done.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
