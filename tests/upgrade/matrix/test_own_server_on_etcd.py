"""Our own API server on an etcd elsewhere, as by `karmadactl init`: servers of both versions take turns on one etcd."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from tests.programs import kubectl
from tests.upgrade.conftest import MATRIX
from tests.upgrade.plane import ran
from tests.upgrade.versions import PATIENCE, Version

from karmada.testing.stage.components import console
from karmada.testing.stage.daemon import Daemon, free_port
from karmada.testing.stage.federation import eventually
from karmada.testing.stage.programs import missing
from karmada.testing.stage.servers import HOST, Etcd

pytestmark = pytest.mark.tools
POLICIES = "propagationpolicies.policy.karmada.io"


class Server:
    """The API server of a version, on an etcd that outlives it."""

    def __init__(self, folder: Path, etcd: Etcd) -> None:
        self._folder = folder
        self._etcd = etcd

    @asynccontextmanager
    async def running(self, version: Version) -> AsyncIterator[None]:
        where = (f"--data-dir={self._folder}", f"--bind-address={HOST}", f"--secure-port={free_port()}")
        command = [console("karmada-apiserver"), *self._etcd.flags, *where]
        daemon = Daemon("karmada-apiserver", command, self._folder / "log", version.environment)
        (self._folder / "admin.kubeconfig").unlink(missing_ok=True)
        await daemon.start()
        try:
            await eventually(lambda: self._ready(daemon), PATIENCE)
            yield
        finally:
            await daemon.end()

    async def _ready(self, daemon: Daemon) -> bool:
        daemon.check()
        return (self._folder / "admin.kubeconfig").exists() and self.kubectl("get", "--raw", "/readyz") == "ok"

    def kubectl(self, *arguments: str, typed: str = "") -> str:
        return ran([kubectl(), f"--kubeconfig={self._folder / 'admin.kubeconfig'}", *arguments], typed)

    def furnish(self, version: Version) -> None:
        """Give it the kinds of a version."""
        objects = yaml.safe_load_all(version.run("karmada", "manifests", "control-plane", "--ca", "bm9ib2R5"))
        kinds = yaml.safe_dump_all([one for one in objects if one and one["kind"] == "CustomResourceDefinition"])
        self.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", typed=kinds)
        self.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=5m")

    def write(self, name: str) -> None:
        """Objects of a built-in and of a custom kind; older policies are written again."""
        selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        policy = {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"resourceSelectors": [selector], "placement": {"clusterAffinity": {"clusterNames": [name]}}},
        }
        self.kubectl("create", "-f", "-", typed=yaml.safe_dump(policy))
        self.kubectl("create", "configmap", name, f"--from-literal=name={name}")
        self.kubectl("label", POLICIES, "--all", "--overwrite", f"last={name}")

    def written(self) -> list[str]:
        """Names of the policies; each is whole, and so is the ConfigMap beside it."""
        names = self.kubectl("get", POLICIES, "-o", "jsonpath={.items[*].metadata.name}").split()
        path = "jsonpath={.items[*].spec.placement.clusterAffinity.clusterNames[0]}"
        assert self.kubectl("get", POLICIES, "-o", path).split() == names
        for name in names:
            assert self.kubectl("get", "configmap", name, "-o", "jsonpath={.data.name}") == name
        return names


@pytest.mark.parametrize("commit", MATRIX)
async def test_servers_of_both_versions_take_turns_on_one_etcd(commit: str, tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    earlier, present = Version.of(commit, tmp_path / "tree"), Version.present()
    async with Etcd(tmp_path / "etcd") as etcd:
        server = Server(tmp_path / "server", etcd)
        (tmp_path / "server").mkdir()
        turns = {"first": earlier, "upgraded": present, "taken-back": earlier, "upgraded-again": present}
        before: list[str] = []
        for name, version in turns.items():
            async with server.running(version):
                if before:
                    assert server.written() == sorted(before)
                server.furnish(version)
                server.write(name)
                before.append(name)
                assert server.written() == sorted(before)
