"""The pictures of README.md from a real run: `python tools/readme_pictures.py docs/pictures`.

A federation of its own runs a Deployment in two of three members: `tree` while all is well, `why` when one is down.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from looks import KARMADA, KARMADACTL, WORKLOAD
from picture import captured, drawn

WEB = WORKLOAD.replace("nginx", "web").replace("replicas: 4", "replicas: 6").replace("image: web", "image: nginx")
TREE, WHY = ["tree", "deployment/web"], ["why", "deployment/web"]


def main(folder: Path) -> None:
    """Both pictures."""
    with tempfile.TemporaryDirectory(prefix="karmada-pictures-") as data:
        here = ["--data", f"{data}/federation"]
        subprocess.run([*KARMADA, "up", "--members", "3", "--detach", "--memory", *here], check=True)
        os.environ["KUBECONFIG"] = f"{data}/federation/kubeconfig"
        try:
            subprocess.run([*KARMADACTL, "apply", "-f", "-"], input=WEB, text=True, check=True)
            subprocess.run([*KARMADACTL, "rollout", "status", "deployment/web"], check=True)
            _draw(folder / "tree.svg", TREE, 84)
            subprocess.run([*KARMADA, "sim", *here, "fault", "member2", "--down"], check=True)
            unready = ["wait", "cluster/member2", "--for=condition=Ready=False", "--timeout=180s"]
            subprocess.run(["kubectl", *unready], check=True)
            _draw(folder / "why.svg", WHY, 96)
        finally:
            subprocess.run([*KARMADA, "down", *here], check=False)


def _draw(file: Path, words: list[str], columns: int) -> None:
    text = captured(columns, [*KARMADACTL, *words])
    file.write_text(drawn(f"karmadactl {' '.join(words)}", text, columns))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
