"""A pod's volumes as folders of this machine, written from the objects they come from.

Nothing of the host is mounted: a hostPath is a folder of the cluster's own, and so is a claim. Both outlive the pod.
Files are replaced one by one when their object changes, as in a kubelet.
"""

import base64
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from karmada.api import yaml
from karmada.machinery.client import Client
from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.simulator.processes.programs import Refused

SECRETS = GroupVersionResource("", "v1", "secrets")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
TOKEN_FOLDER = "secrets/kubernetes.io/serviceaccount"
TOKEN_SECONDS = 3600
ROOT_CERTIFICATE = "kube-root-ca.crt"
_RUN = ("/var/run/", "/run/")


class NotYet(Exception):
    """A volume whose object does not exist; the message names it."""


class Volumes:
    """The volumes of one pod: `folder` is the pod's, `shared` the cluster's."""

    def __init__(self, client: Client, pod: JSONObject, folder: Path, shared: Path) -> None:
        self._client = client
        self._pod = pod
        self._namespace: str = pod["metadata"]["namespace"]
        self._folder = folder
        self._shared = shared

    async def write(self) -> None:
        """Bring all files up to date; raises `NotYet` and `Refused`."""
        for volume in self._pod["spec"].get("volumes") or ():
            folder = self._place(volume)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if (files := await self._files(volume)) is not None:
                replace_files(folder, files)
        if self._pod["spec"].get("automountServiceAccountToken") is not False:
            folder = self._folder / "run" / TOKEN_FOLDER
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_files(folder, await self._account())

    def mounts(self, container: JSONObject) -> dict[str, Path]:
        """Folders and files by the paths at which a container has them; those below /run are really there."""
        volumes = {volume["name"]: volume for volume in self._pod["spec"].get("volumes") or ()}
        found: dict[str, Path] = {}
        for mount in container.get("volumeMounts") or ():
            path = str(mount["mountPath"]).rstrip("/")
            if path.startswith(_RUN):
                continue
            if (volume := volumes.get(mount["name"])) is None:
                raise Refused(f"volume {mount['name']!r} is mounted, but the pod has none of that name")
            found[path] = below(self._place(volume), mount.get("subPath") or "")
        return found

    def _place(self, volume: JSONObject) -> Path:
        name = volume["name"]
        if source := volume.get("hostPath"):
            return below(self._shared / "host", str(source["path"]).lstrip("/"))
        if source := volume.get("persistentVolumeClaim"):
            return below(self._shared / "claims" / self._namespace, source["claimName"])
        for mount in (m for c in self._pod["spec"]["containers"] for m in c.get("volumeMounts") or ()):
            path = str(mount["mountPath"])
            if mount["name"] == name and path.startswith(_RUN):
                return below(self._folder / "run", path.removeprefix("/var").removeprefix("/run/"))
        return below(self._folder / "volumes", name)

    async def _files(self, volume: JSONObject) -> dict[str, bytes] | None:
        """The content of a volume; None for those that programs fill themselves."""
        if any(kind in volume for kind in ("emptyDir", "hostPath", "persistentVolumeClaim")):
            return None
        if source := volume.get("secret"):
            return await self._of_object(SECRETS, source, source.get("secretName") or "")
        if source := volume.get("configMap"):
            return await self._of_object(CONFIG_MAPS, source, source.get("name") or "")
        if source := volume.get("projected"):
            files: dict[str, bytes] = {}
            for part in source.get("sources") or ():
                files |= await self._projected(part)
            return files
        kinds = ", ".join(key for key in volume if key != "name")
        raise Refused(f"volume {volume['name']!r}: the process runtime has no volumes of kind {kinds or 'nothing'}")

    async def _projected(self, part: JSONObject) -> dict[str, bytes]:
        if source := part.get("secret"):
            return await self._of_object(SECRETS, source, source.get("name") or "")
        if source := part.get("configMap"):
            return await self._of_object(CONFIG_MAPS, source, source.get("name") or "")
        if source := part.get("serviceAccountToken"):
            token = await self._token(source.get("audience"), int(source.get("expirationSeconds") or TOKEN_SECONDS))
            return {source["path"]: token}
        if source := part.get("downwardAPI"):
            items = source.get("items") or ()
            known = {"metadata.name": self._pod["metadata"]["name"], "metadata.namespace": self._namespace}
            fields = {item["path"]: str((item.get("fieldRef") or {}).get("fieldPath")) for item in items}
            return {path: known.get(field, "").encode() for path, field in fields.items()}
        raise Refused(f"the process runtime has no projected volumes of kind {', '.join(part)}")

    async def _of_object(self, kind: GroupVersionResource, source: JSONObject, name: str) -> dict[str, bytes]:
        try:
            found = await self._client.resource(kind).get(name, self._namespace)
        except NotFound:
            if source.get("optional"):
                return {}
            raise NotYet(f'{kind.resource.removesuffix("s")} "{name}" not found') from None
        content = content_of(found)
        for key, value in content.items():
            if runs_plugin(value):
                raise Refused(f"{name}: {key} is a kubeconfig that starts a program, which is not run here")
        if (items := source.get("items")) is None:
            return content
        missing = [item["key"] for item in items if item["key"] not in content]
        if missing and not source.get("optional"):
            raise NotYet(f'"{name}" has no key {missing[0]!r}')
        return {item["path"]: content[item["key"]] for item in items if item["key"] in content}

    async def _account(self) -> dict[str, bytes]:
        try:
            root = await self._client.resource(CONFIG_MAPS).get(ROOT_CERTIFICATE, self._namespace)
        except NotFound:
            raise NotYet(f'configmap "{ROOT_CERTIFICATE}" not found') from None
        token = await self._token(None, TOKEN_SECONDS)
        return {"namespace": self._namespace.encode(), "ca.crt": root["data"]["ca.crt"].encode(), "token": token}

    async def _token(self, audience: str | None, seconds: int) -> bytes:
        account = self._pod["spec"].get("serviceAccountName") or ""
        about = self._pod["metadata"]
        spec: JSONObject = {"expirationSeconds": max(600, seconds)}
        if account:
            bound = {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "uid": about["uid"]}
            spec["boundObjectRef"] = bound
        if audience:
            spec["audiences"] = [audience]
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        try:
            made = await self._client.resource(ACCOUNTS).submit(account or "default", "token", body, self._namespace)
        except NotFound:
            raise NotYet(f'serviceaccount "{account}" not found') from None
        return str(made["status"]["token"]).encode()


def content_of(tree: JSONObject) -> dict[str, bytes]:
    """The content of a Secret or ConfigMap."""
    encoded = tree.get("data") if tree.get("kind") == "Secret" else tree.get("binaryData")
    made = {key: base64.b64decode(value) for key, value in (encoded or {}).items()}
    plain = tree.get("data") if tree.get("kind") != "Secret" else None
    return made | {key: value.encode() for key, value in (plain or {}).items()}


def runs_plugin(content: bytes) -> bool:
    """Whether a file is a kubeconfig whose credentials come from a program."""
    try:
        tree = yaml.load(content)
    except yaml.YAMLError:
        # Another reader may make something of it.
        return b"exec" in content
    users = tree.get("users") if isinstance(tree, dict) else None
    named = [entry.get("user") for entry in users if isinstance(entry, dict)] if isinstance(users, list) else []
    return any(isinstance(user, dict) and user.get("exec") for user in named)


def below(folder: Path, path: str) -> Path:
    """A path inside a folder; raises `Refused` for one that leads out of it."""
    if ".." in PurePosixPath(path).parts or PurePosixPath(path).is_absolute():
        raise Refused(f"the path {path!r} leads out of its volume")
    return folder / path


def replace_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Have a folder hold exactly these files, each replaced at once; readable by this user only."""
    for path, content in files.items():
        target = below(folder, path)
        if target.exists() and target.read_bytes() == content:
            continue
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = target.with_name(f"..{target.name}")
        fresh.write_bytes(content)
        fresh.chmod(0o600)
        os.replace(fresh, target)
    for target in [path for path in folder.rglob("*") if path.is_file()]:
        if str(target.relative_to(folder)) not in files:
            target.unlink()
