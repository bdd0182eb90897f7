"""The commands of docs/production.md in their order: each block, the cluster it is typed against, and what is not run.

`tests/engine/stage/test_production_page.py` types them in one go; `test_production.py` holds the table to the page.
"""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "production.md"
BLOCK = re.compile(r"(?<=\n\n)(?:    \S.*\n)+")
FILE = re.compile(r"^```yaml file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHART, INIT, OPERATOR = "chart", "init", "operator"
"""Host clusters: one for each way to install, as nobody would use two of them in one."""


class Block(NamedTuple):
    """A block of commands, by how it begins."""

    begins: str
    host: str = CHART
    not_run: str = ""
    """Why it is not run here, if it is not."""


BLOCKS = (
    Block("docker build ", not_run="no container builder: tests/deploy/test_image.py makes and starts the same image"),
    Block("kubectl create namespace karmada-system\nkubectl label "),
    Block("helm install "),
    Block("echo "),
    Block("kubectl -n karmada-system rollout status deployment/karmada-apiserver "),
    Block("karmadactl --kubeconfig karmada.config join "),
    Block("kubectl --kubeconfig karmada.config apply -f web.yaml"),
    Block("karmadactl init ", INIT),
    Block("karmadactl addons enable ", INIT),
    Block("karmadactl addons disable ", INIT),
    Block("kubectl create namespace karmada-system\nkarmada manifests operator ", OPERATOR),
    Block("kubectl wait crd/karmadas.operator.karmada.io ", OPERATOR),
    Block("kubectl -n karmada-system delete karmada/", OPERATOR),
    Block("karmadactl certs check"),
    Block("helm upgrade "),
    Block("kubectl -n karmada-system port-forward "),
    Block("kubectl -n karmada-system scale deployment karmada-apiserver karmada-aggregated-apiserver --replicas=0"),
    Block("kubectl -n karmada-system scale statefulset etcd --replicas=3"),
    Block("helm uninstall "),
)


def blocks() -> list[str]:
    """The indented commands of the page, block by block."""
    return [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in BLOCK.findall(PAGE.read_text())]


def files() -> dict[str, str]:
    """The files of the page by their names."""
    return dict(FILE.findall(PAGE.read_text()))
