"""100 members with 1,000 pods each and their control plane, in one process: what karmada-search is measured against.

A member is a few pages: discovery, who it is, pods as a list or as a stream, and a review that allows everything. Pods
have the size and the form of what a kubelet reports: 4 KB, of which 3 KB are trimmed by the registry.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qsl

from karmada.aggregated.api import ClusterApi
from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
from karmada.apiserver.server import ADMIN, ApiServer, ApiServerOptions
from karmada.machinery.client import Client
from karmada.machinery.httpserver.model import HttpAnswer, HttpRequest, HttpResponse, StreamResponse
from karmada.machinery.httpserver.server import HttpServer
from karmada.machinery.transport import GroupVersionResource
from karmada.membership import component_roles, objects

MEMBERS = int(os.environ.get("KARMADA_BENCH_CLUSTERS", "100"))
PODS = 1000
REVISION = 100_000
TRIMMED = "metadata.managedFields,spec.volumes,spec.tolerations,spec.containers.env,spec.containers.volumeMounts"
_WORDS = ("api", "web", "cache", "queue", "ledger", "basket", "mail", "login", "report", "invoice", "video", "chat")
_PODS = {
    "name": "pods",
    "singularName": "pod",
    "namespaced": True,
    "kind": "Pod",
    "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"],
}
_CORE = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [_PODS]}


def name_of(member: int) -> str:
    """The name of a cluster."""
    return f"member{member:03d}"


def pod(member: int, number: int) -> bytes:
    """One pod, 4 KB."""
    return _form(number) % {
        b"member": b"%03d" % member,
        b"number": b"%04d" % number,
        b"uid": b"%08x-%04x-4000-8000-000000000000" % (member, number),
        b"revision": b"%d" % (REVISION - PODS + number),
        b"day": b"%02d" % (1 + member % 28),
        b"ip": b"10.%d.%d.%d" % (member, number // 250, number % 250),
    }


@cache
def _form(number: int) -> bytes:
    """A pod of any member; made once, so that making pods costs the members nothing."""
    app = _WORDS[number % len(_WORDS)]
    name, space = f"{app}-%(member)s-%(number)s", f"team-{number % 10}"
    labels = {"app": app, "pod-template-hash": f"{number % 97:08x}", "tier": "front" if number % 3 else "back"}
    created = f"2026-{1 + number % 9:02d}-%(day)sT{number % 24:02d}:{number % 60:02d}:00Z"
    mounts = [{"name": f"v{each}", "mountPath": f"/etc/app/config.d/{each}", "readOnly": True} for each in range(4)]
    fields: dict[str, object] = {
        f'k:{{"type":"{each}"}}': {".": {}, "f:status": {}, "f:lastProbeTime": {}} for each in range(28)
    }
    owned = {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    obj = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": name,
            "namespace": space,
            "uid": "%(uid)s",
            "resourceVersion": "%(revision)s",
            "creationTimestamp": created,
            "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": "r%(member)s"}],
            "managedFields": [{**owned, "fieldsV1": {"f:status": {"f:conditions": fields}}}],
        },
        "spec": {
            "nodeName": f"node-{number % 50}",
            "containers": [
                {
                    "name": "main",
                    "image": f"registry.example/{app}:1.{number % 30}",
                    "env": [{"name": f"SETTING_{each}", "value": f"value-{each}"} for each in range(16)],
                    "volumeMounts": mounts,
                }
            ],
            "volumes": [{"name": f"v{each}", "configMap": {"name": f"{app}-{each}"}} for each in range(4)],
            "tolerations": [{"key": f"node.kubernetes.io/t{each}", "operator": "Exists"} for each in range(4)],
        },
        "status": {
            "phase": "Running" if number % 50 else "Pending",
            "conditions": [
                {"type": each, "status": "True", "lastProbeTime": None, "lastTransitionTime": created}
                for each in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "podIP": "%(ip)s",
            "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0, "state": {"running": {}}}],
        },
    }
    return json.dumps(obj, separators=(",", ":")).encode()


class Members:
    """Answers for all members; counts what is loaded from them."""

    def __init__(self) -> None:
        self.loads = 0

    async def __call__(self, request: HttpRequest) -> HttpAnswer:
        """Answer a request to a member."""
        _, name, *parts = request.path.split("/")
        member, path, params = int(name[6:]), "/".join(parts), dict(parse_qsl(request.query))
        if path == "api/v1/pods":
            return self._pods(member, params)
        if path == "api/v1/namespaces/kube-system":
            return _json({"metadata": {"name": "kube-system", "uid": f"id-{member}"}, "kind": "Namespace"})
        if path.endswith("subjectaccessreviews"):
            return _json({"kind": "SubjectAccessReview", "status": {"allowed": True}}, 201)
        if path == "api":
            return _json({"kind": "APIVersions", "versions": ["v1"]})
        if path == "apis":
            return _json({"kind": "APIGroupList", "apiVersion": "v1", "groups": []})
        return _json(_CORE) if path == "api/v1" else HttpResponse(404, b"{}")

    def _pods(self, member: int, params: dict[str, str]) -> HttpAnswer:
        if "watch" in params:
            self.loads += "sendInitialEvents" in params
            seconds = int(params.get("timeoutSeconds", "300"))
            return StreamResponse(200, _events(member, "sendInitialEvents" in params, seconds))
        self.loads += 1
        items = b",".join(pod(member, number) for number in range(PODS))
        head = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[' % REVISION
        return HttpResponse(200, head + items + b"]}")


async def _events(member: int, initial: bool, seconds: int) -> AsyncIterator[bytes]:
    if initial:
        for begin in range(0, PODS, 100):
            yield b"".join(b'{"type":"ADDED","object":%b}\n' % pod(member, begin + each) for each in range(100))
        about = {"resourceVersion": str(REVISION), "annotations": {"k8s.io/initial-events-end": "true"}}
        end = {"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": about}}
        yield json.dumps(end).encode() + b"\n"
    await asyncio.sleep(seconds)


def _json(tree: object, status: int = 200) -> HttpResponse:
    return HttpResponse(status, json.dumps(tree).encode())


def serve(pipe: Connection, folder: Path) -> None:
    """Serve the control plane and all members; `pipe` is answered with what has been loaded so far."""
    asyncio.run(_serve(pipe, folder))


async def _serve(pipe: Connection, folder: Path) -> None:
    members, clusters = Members(), ClusterApi()
    there = HttpServer(members, max_unauthenticated=100_000)
    port = await there.listen("127.0.0.1", 0)
    async with ApiServer(ApiServerOptions(apis=[clusters.local])) as server:
        admin = Client(server.direct(ADMIN))
        clusters.connect(admin, server.store, server.authorizer)
        for name in ("karmada-system", "clusters"):
            await admin.resource(GroupVersionResource("", "v1", "namespaces")).create({"metadata": {"name": name}})
        for tree in component_roles.rights():
            await admin.resource(await _type(admin, tree)).create(tree, tree["metadata"].get("namespace", ""))
        for member in range(MEMBERS):
            await _join(admin, member, f"http://127.0.0.1:{port}/{name_of(member)}")
        hub = f"https://127.0.0.1:{await server.listen()}"
        authority = server.identity.authority
        (folder / "ca.crt").write_bytes(authority.certificate_pem)
        for user, groups in ((component_roles.user_of("karmada-search"), ()), ("admin", ("system:masters",))):
            certificate, key = authority.issue_client(user, groups)
            config = kubeconfig(hub, authority.certificate_pem, certificate=certificate, key=key)
            write_kubeconfig(folder / f"{user.rpartition(':')[2]}.kubeconfig", config)
        pipe.send(hub)
        loop = asyncio.get_running_loop()
        while await loop.run_in_executor(None, pipe.recv):
            pipe.send(members.loads)


async def _type(client: Client, tree: dict[str, object]) -> GroupVersionResource:
    return (await client.mapper.of_kind(str(tree["apiVersion"]), str(tree["kind"]))).type


async def _join(admin: Client, member: int, endpoint: str) -> None:
    name = name_of(member)
    secret = objects.secret(name, "clusters", {"token": b"token"})
    await admin.resource(objects.SECRETS).create(secret, "clusters")
    cluster = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": name},
        "spec": {
            "id": f"id-{member}",
            "syncMode": "Push",
            "apiEndpoint": endpoint,
            "insecureSkipTLSVerification": True,
            "secretRef": {"namespace": "clusters", "name": name},
        },
    }
    type_ = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
    made = await admin.resource(type_).create(cluster)
    ready = {"type": "Ready", "status": "True", "reason": "ClusterReady", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    made["status"] = {"conditions": [{**ready, "message": ""}]}
    await admin.resource(type_).update_status(made)
