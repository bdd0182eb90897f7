"""A stock control plane and a stock member on one etcd, with components of any version: what the chart installs.

`python -m tests.upgrade.plane COMMIT` has a version fill such an etcd, and packs a snapshot of it to
tests/upgrade/data (see the README there).
"""

import asyncio
import base64
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import yaml
from tests.programs import kubectl
from tests.upgrade.versions import DATA, MANIFESTS, PATIENCE, Version

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.apiserver.auth.pki import server_names
from karmada.controllers.clusters import is_ready
from karmada.membership.component_roles import user_of
from karmada.standalone.archive import unpack
from karmada.testing.stage.components import Component
from karmada.testing.stage.daemon import free_port
from karmada.testing.stage.federation import (
    AGGREGATED,
    CLUSTERS,
    CONTROLLERS,
    NO_PODS,
    SCHEDULER,
    TOKENS,
    WEBHOOK,
    WEBHOOK_SECONDS,
    eventually,
)
from karmada.testing.stage.programs import program
from karmada.testing.stage.servers import HOST, Etcd, KubeApiServer, KubeControllerManager, write_pair
from karmada.testing.stage.snapshots import restore, save

MEMBER = "member1"
KEPT = ("ca.crt", "ca.key", "service-account.key")
"""Keys of the member: what the control plane's etcd holds of it opens it as long as these are its keys."""


class Plane:
    """Stock servers in a folder; components come and go."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.etcd = Etcd(folder / "etcd")
        self.hub = KubeApiServer("karmada", folder / "karmada", self.etcd, [NO_PODS])
        self.member = KubeApiServer(MEMBER, folder / MEMBER, self.etcd)
        self._tokens = KubeControllerManager(self.member, TOKENS)
        self._ports = {AGGREGATED: free_port(), WEBHOOK: free_port()}
        self._pki = folder / "pki"
        write_pair(
            self._pki,
            "tls",
            self.hub.authority.issue_server(AGGREGATED, server_names([HOST, f"{AGGREGATED}.karmada-system.svc"])),
        )
        self._started = 0

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Run the stock servers."""
        async with AsyncExitStack() as stack:
            for server in (self.etcd, self.hub, self.member, self._tokens):
                await stack.enter_async_context(server)
            self.client = self.hub.client()
            stack.push_async_callback(self.client.close)
            yield

    @asynccontextmanager
    async def running(self, version: Version) -> AsyncIterator[None]:
        """Run the components of a version and then give the control plane its kinds, as an upgrade does."""
        async with AsyncExitStack() as stack:
            keys = (f"--tls-cert-file={self._pki}/tls.crt", f"--tls-private-key-file={self._pki}/tls.key")
            await self._start(stack, version, AGGREGATED, *self.etcd.flags, *keys)
            webhook = await self._start(stack, version, WEBHOOK, f"--cert-dir={self._pki}")
            await webhook.healthy()
            await eventually(self._reach_members, PATIENCE)
            for one in [await self._start(stack, version, name) for name in (CONTROLLERS, SCHEDULER)]:
                await one.healthy()
            self.furnish(version)
            yield

    async def _start(self, stack: AsyncExitStack, version: Version, name: str, *flags: str) -> Component:
        self._started += 1
        folder = self.folder / "components"
        access = self.hub.rotatable_access(folder / f"{name}-{self._started}.kubeconfig", user_of(name))
        where = [f"--bind-address={HOST}", f"--secure-port={self._ports[name]}"] if name in self._ports else []
        made = Component(
            name, access, folder / f"{name}-{self._started}.log", [*where, *flags], dict(version.environment)
        )
        await made.start()
        stack.push_async_callback(made.end)
        return made

    def furnish(self, version: Version) -> None:
        """Apply what `karmada manifests control-plane` of a version prints."""
        text = version.run("karmada", "manifests", "control-plane", "--ca", self._authority)
        self._write("apply", [one for one in yaml.safe_load_all(text) if one], "--server-side", "--force-conflicts")
        self.kubectl("wait", "crd", "--all", "--for=condition=Established", "--timeout=5m")

    def move(self) -> None:
        """Have a control plane from elsewhere ask the components of this machine."""
        kinds = "apiservices,mutatingwebhookconfigurations,validatingwebhookconfigurations"
        self._write("replace", [one for one in self.get(kinds)["items"] if one["kind"] != "APIService" or _aside(one)])

    def _write(self, verb: str, objects: list[Any], *flags: str) -> None:
        """Write objects, with addresses of this machine."""
        for one in objects:
            if one["kind"] == "Service":
                one["spec"] = {"type": "ExternalName", "externalName": "localhost"}
            elif one["kind"] == "APIService":
                one["spec"] |= {"caBundle": self._authority}
                one["spec"]["service"]["port"] = self._ports[AGGREGATED]
            for webhook in one.get("webhooks") or ():
                webhook |= {"clientConfig": self._here(webhook["clientConfig"]), "timeoutSeconds": WEBHOOK_SECONDS}
            if converting := one.get("spec", {}).get("conversion", {}).get("webhook"):
                converting["clientConfig"] = self._here(converting["clientConfig"])
        self.kubectl(verb, *flags, "-f", "-", typed=yaml.safe_dump_all(objects))

    def _here(self, config: Any) -> dict[str, str]:
        """How the webhook of this machine is reached."""
        path = urlsplit(config["url"]).path
        return {"url": f"https://{HOST}:{self._ports[WEBHOOK]}{path}", "caBundle": self._authority}

    @property
    def _authority(self) -> str:
        return base64.b64encode(self.hub.authority.certificate_pem).decode()

    async def _reach_members(self) -> bool:
        clusters = self.client.resource(CLUSTERS)
        for one in (await clusters.list()).items:
            await clusters.patch(one["metadata"]["name"], {"spec": {"apiEndpoint": self.member.endpoint}})
        return True

    async def ready(self) -> bool:
        """Whether the one member is ready."""
        (found,) = (await self.client.of(Cluster).list()).items
        return found.metadata.name == MEMBER and is_ready(found)

    def kubectl(self, *arguments: str, member: bool = False, typed: str = "") -> str:
        """What kubectl prints."""
        server = self.member if member else self.hub
        return ran([kubectl(), f"--kubeconfig={server.kubeconfig}", *arguments], typed)

    def get(self, what: str, *, member: bool = False) -> Any:
        """An object, `None` if it is not there, or a list."""
        said = self.kubectl("get", what, "-n", "shop", "-o", "json", "--ignore-not-found", member=member)
        return orjson.loads(said) if said else None

    def patch(self, what: str, change: dict[str, Any]) -> None:
        """Change an object."""
        self.kubectl("patch", what, "-n", "shop", "--type=merge", "-p", orjson.dumps(change).decode())

    async def arrives(self, replicas: int) -> str:
        """Wait until the member's Deployment has this many replicas; its uid."""

        async def there() -> str:
            found = self.get("deployment/web", member=True)
            return str(found["metadata"]["uid"]) if found and found["spec"]["replicas"] == replicas else ""

        return str(await eventually(there, PATIENCE))


def _aside(api_service: Any) -> bool:
    """Whether another server answers for a group."""
    return bool(api_service["spec"].get("service"))


def ran(command: list[str], typed: str = "") -> str:
    """What a command prints."""
    outcome = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=PATIENCE)
    assert outcome.returncode == 0, f"{' '.join(command)}:\n{outcome.stderr}"
    return outcome.stdout


async def restored(commit: str, folder: Path) -> Plane:
    """A control plane whose etcd a version of the past filled."""
    with tarfile.open(DATA / f"{commit}-etcd.tar.xz") as archive:
        unpack(archive, folder)
    plane = Plane(folder)
    await restore(folder / "snapshot.db", plane.etcd)
    return plane


async def make(commit: str) -> Path:
    """Have a version of the past fill an etcd, and pack a snapshot of it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plane, version = Plane(folder / "plane"), Version.of(commit, folder / "tree")
        async with plane.serving():
            plane.furnish(version)
            async with plane.running(version):
                hub, member = f"--kubeconfig={plane.hub.kubeconfig}", f"--cluster-kubeconfig={plane.member.kubeconfig}"
                version.run("karmadactl", hub, "join", MEMBER, member)
                plane.kubectl("apply", "-f", str(MANIFESTS))
                await plane.arrives(3)
            _shrink(plane.etcd)
            await save(plane.etcd, folder / "snapshot.db")
        target = DATA / f"{commit}-etcd.tar.xz"
        with tarfile.open(target, "w:xz") as archive:
            archive.add(folder / "snapshot.db", "snapshot.db")
            for each in KEPT:
                archive.add(plane.member.folder / each, f"{MEMBER}/{each}")
    return target


def _shrink(etcd: Etcd) -> None:
    """Leave nothing but the newest revision of every key."""
    keys = [f"--cacert={etcd.folder}/ca.crt", f"--cert={etcd.folder}/client.crt", f"--key={etcd.folder}/client.key"]
    etcdctl = [str(program("etcdctl")), f"--endpoints={etcd.url}", *keys]
    revision = orjson.loads(ran([*etcdctl, "endpoint", "status", "-w", "json"]))[0]["Status"]["header"]["revision"]
    ran([*etcdctl, "compact", "--physical", str(revision)])
    ran([*etcdctl, "defrag"])


if __name__ == "__main__":
    for each in sys.argv[1:]:
        made = asyncio.run(make(each))
        print(f"{made}: {made.stat().st_size} bytes")
