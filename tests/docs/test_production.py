"""The commands of docs/production.md that write to clusters, typed as they stand by a shell with the real kubectl.

Pods do not run here. `tests/engine/stage/test_production_page.py` walks the whole page with pods that do, and the table
it goes by names every block of the page.
"""

import asyncio
import os
import sys
from pathlib import Path

import pytest
import yaml
from tests import programs
from tests.docs.production import BLOCKS, blocks, files

from karmada.simulator.fleet import Fleet
from karmada.simulator.spec import parse

ROOT = Path(__file__).parents[2]
SCHEDULER, ETCD = "deployment/karmada-scheduler", "statefulset/etcd"
CLUSTERS, KARMADAS = "apiservice/v1alpha1.cluster.karmada.io", "crd/karmadas.operator.karmada.io"


def test_every_block_of_the_page_is_walked_in_its_order() -> None:
    found = blocks()
    assert [block.splitlines()[0] for block in found] == [
        text.splitlines()[0] for text, block in zip(found, BLOCKS, strict=True) if text.startswith(block.begins)
    ]


def test_nothing_is_left_out_but_what_needs_a_container_builder() -> None:
    assert [block.begins for block in BLOCKS if block.not_run] == ["docker build "]


def commands(begins: str, *containing: str) -> str:
    """The lines of a block that contain one of these texts; all of them without one."""
    (block,) = (block for block in blocks() if block.startswith(begins))
    lines = block.splitlines()
    return "\n".join(line for line in lines if not containing or any(text in line for text in containing))


async def shell(folder: Path, config: Path, script: str) -> None:
    """Run commands in a folder, against the cluster of a kubeconfig."""
    places = [str(Path(programs.kubectl()).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    own = {"HOME": str(folder), "KUBECONFIG": str(config), "REGISTRY": "registry.example.com"}
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"set -eo pipefail\n{script}"),
        cwd=folder,
        env={**os.environ, **own, "PATH": os.pathsep.join(places), "PYTHONPATH": str(ROOT / "src")},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await asyncio.wait_for(process.communicate(), 400)
    assert process.returncode == 0, f"{script}\n{output.decode()}"


@pytest.mark.tools
async def test_the_commands_of_the_page_install_everything_that_they_say(tmp_path: Path) -> None:
    await asyncio.to_thread(programs.kubectl)
    inside = "kubectl -n karmada-system rollout status deployment/karmada-apiserver "
    reading = commands(inside, "get secret karmada-admin-config", "set-cluster", "CA=$")
    fleet = parse({"members": [{"name": name} for name in ("host", "plane", "other")]})
    async with Fleet(fleet, folder=tmp_path / "clusters") as clusters:
        await clusters.listen()
        first, plane, other = (clusters.kubeconfig_path(clusters[name]) for name in ("host", "plane", "other"))
        await shell(tmp_path, first, commands("kubectl create namespace karmada-system\nkubectl label "))
        await shell(tmp_path, first, commands("echo "))
        await shell(tmp_path, first, reading + '\ntest -n "$CA"; echo "$CA" > ca')
        config = yaml.safe_load((tmp_path / "karmada.config").read_text())
        assert config["clusters"][0]["cluster"]["server"] == "https://karmada.example.com:5443"
        (tmp_path / "karmada.config").write_bytes(plane.read_bytes())  # The API server that would run in the host.
        await shell(tmp_path, first, f"CA=$(cat ca)\n{commands(inside, 'manifests control-plane')}")
        await shell(tmp_path, first, f"kubectl -n karmada-system get {SCHEDULER} {ETCD}")
        # Nothing runs that could be restarted.
        await shell(tmp_path, first, commands("karmadactl certs check") + " --restart=false")
        await shell(tmp_path, first, reading.replace(" karmada.config", " renewed.config"))
        renewed = yaml.safe_load((tmp_path / "renewed.config").read_text())
        assert renewed["clusters"] == config["clusters"]
        assert renewed["users"] != config["users"]
        await shell(tmp_path, plane, f"kubectl get {CLUSTERS} && kubectl -n kube-public get configmap cluster-info")
        # Without pods nothing can be forwarded, and the keys alone are read.
        await shell(tmp_path, first, commands("kubectl -n karmada-system port-forward ", "get secret"))
        assert b"PRIVATE KEY" in (tmp_path / "etcd-tls.key").read_bytes()
        assert b"CERTIFICATE" in (tmp_path / "etcd-ca.crt").read_bytes() + (tmp_path / "etcd-tls.crt").read_bytes()
        await shell(tmp_path, other, commands("kubectl create namespace karmada-system\nkarmada manifests operator "))
        (tmp_path / "karmada.yaml").write_text(files()["karmada.yaml"])
        established = f"kubectl wait --for=condition=Established {KARMADAS}"
        await shell(tmp_path, other, f"{established} && kubectl apply -f karmada.yaml")
