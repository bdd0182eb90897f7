"""The commands of docs/production.md, typed as they stand by a shell with the real kubectl, against simulated clusters.

Pods do not run here: `tests/engine/stage` starts what these commands install as processes.
"""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest
import yaml
from tests import programs

from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import parse

PAGE = Path(__file__).parents[2] / "docs" / "production.md"
BLOCK = re.compile(r"(?<=\n\n)(?:    \S.*\n)+")
FILE = re.compile(r"^```yaml file=(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("docker build ", "helm install ", "karmadactl addons ", "etcdutl ")
"""Beginnings of blocks that other tests run: of the image, of Helm, of `init`, of the restore of a snapshot."""
SCHEDULER, ETCD = "deployment/karmada-scheduler", "statefulset/etcd"
CLUSTERS, KARMADAS = "apiservice/v1alpha1.cluster.karmada.io", "crd/karmadas.operator.karmada.io"


def blocks() -> list[str]:
    """The indented commands, block by block."""
    text = PAGE.read_text()
    found = [re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in BLOCK.findall(text)]
    return [block for block in found if not block.startswith(ELSEWHERE)]


async def shell(folder: Path, config: Path, script: str) -> None:
    """Run commands in a folder, against the cluster of a kubeconfig."""
    places = [str(Path(programs.kubectl()).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    own = {"HOME": str(folder), "KUBECONFIG": str(config), "REGISTRY": "registry.example.com"}
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"set -eo pipefail\n{script}"),
        cwd=folder,
        env={**os.environ, **own, "PATH": os.pathsep.join(places)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, f"{script}\n{output.decode()}"


@pytest.mark.tools
async def test_the_commands_of_the_page_install_everything_that_they_say(tmp_path: Path) -> None:
    await asyncio.to_thread(programs.kubectl)
    certificates, host, inside, operator, renewal, snapshot = blocks()
    fleet = parse({"members": [{"name": name} for name in ("host", "plane", "other")]})
    async with Fleet(fleet, folder=tmp_path / "clusters") as clusters:
        await clusters.listen()
        first, plane, other = (clusters.kubeconfig_path(clusters[name]) for name in ("host", "plane", "other"))
        await shell(tmp_path, first, certificates)
        await shell(tmp_path, first, host)
        *reading, applying = inside.splitlines()
        await shell(tmp_path, first, "\n".join(reading) + '\ntest -n "$CA"; echo "$CA" > ca')
        config = yaml.safe_load((tmp_path / "karmada.config").read_text())
        assert config["clusters"][0]["cluster"]["server"].startswith("https://")
        (tmp_path / "karmada.config").write_bytes(plane.read_bytes())  # The API server that would run in the host.
        await shell(tmp_path, first, f"CA=$(cat ca)\n{applying}")
        await shell(tmp_path, first, f"kubectl -n karmada-system get {SCHEDULER} {ETCD}")
        # Nothing runs that could be restarted: tests/cli/test_certs.py and the engine's test_rotation.py do that.
        await shell(tmp_path, first, renewal.rstrip() + " --restart=false")
        await shell(tmp_path, first, "\n".join(reading).replace(" karmada.config", " renewed.config"))
        renewed = yaml.safe_load((tmp_path / "renewed.config").read_text())
        assert renewed["clusters"] == config["clusters"]
        assert renewed["users"] != config["users"]
        await shell(tmp_path, plane, f"kubectl get {CLUSTERS}")
        # Without pods nothing can be forwarded: the keys are read, and tests/engine takes a snapshot with such.
        await shell(tmp_path, first, "\n".join(snapshot.splitlines()[1:-1]))
        assert b"PRIVATE KEY" in (tmp_path / "etcd-tls.key").read_bytes()
        assert b"CERTIFICATE" in (tmp_path / "etcd-ca.crt").read_bytes() + (tmp_path / "etcd-tls.crt").read_bytes()
        await shell(tmp_path, other, operator)
        ((name, text),) = FILE.findall(PAGE.read_text())
        (tmp_path / name).write_text(text)
        await shell(tmp_path, other, f"kubectl wait --for=condition=Established {KARMADAS} && kubectl apply -f {name}")
