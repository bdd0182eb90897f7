"""Requests through `clusters/<name>/proxy` as recorded, one by one: codes, content types and bodies.

`OTHERWISE` lists what a member of another make answers differently; nothing of it comes from the proxy.
"""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import yaml
from tests.membership.test_pull import Pull
from tests.membership.test_pull import pull as pull
from tests.membership.test_recorded import RECORDED
from tests.membership.world import Member, eventually

from karmada.machinery.transport import GroupVersionResource
from karmada.membership import objects
from karmada.membership.agent_grant import EVERYTHING
from karmada.membership.component_roles import user_of
from karmada.membership.join import join

pytestmark = pytest.mark.skipif(not RECORDED.is_dir(), reason="needs ../shared/golden/pull")
NODES = GroupVersionResource("", "v1", "nodes")
PODS = GroupVersionResource("", "v1", "pods")
BODIES: dict[str, Any] = {
    "POST configmaps": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}},
    "PUT made": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}, "data": {"a": "1"}},
    "PATCH made": {"data": {"b": "2"}},
    "POST selfsubjectreviews": {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
}
OTHERWISE = {
    "/proxy/": "paths: every server has its own",
    "/proxy/api": "the address of the member's server is its own",
    "/proxy/version": "every server has its own version",
    "/log": "the recorded member had nodes without addresses",
    "/exec?command=ls&stdout=1": "the recorded member had nodes without addresses",
}


def calls(folder: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((RECORDED / folder / "calls.yaml").read_text())["calls"]
    return found


def pod(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "labels": {"app": "web"}}
    return {"metadata": metadata, "spec": {"containers": [{"name": "web", "image": "web"}], "nodeName": "m1-a"}}


class Caller:
    """Users of the hub as HTTP clients."""

    def __init__(self, pull: Pull, folder: Path) -> None:
        self.pull = pull
        self.folder = folder

    def _context(self, user: str) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.pull.authority.decode())
        if user != "anonymous":
            groups = {"admin": ["system:masters"], "dev": ["devs"]}.get(user, [])
            name = "system:admin" if user == "admin" else user
            certificate, key = self.pull.world.plane.server.identity.authority.issue_client(name, groups)
            (self.folder / f"{user}.pem").write_bytes(certificate + key)
            context.load_cert_chain(self.folder / f"{user}.pem")
        return context

    async def __call__(self, call: dict[str, Any]) -> tuple[int, str, Any]:
        """Code, content type and body, the latter as the recording shows it."""
        method, _, path = call["request"].partition(" ")
        body = BODIES.get(f"{method} {path.partition('?')[0].rpartition('/')[2]}")
        headers = {"Content-Type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
        headers |= call.get("requestHeaders") or {}
        connector = aiohttp.TCPConnector(ssl=self._context(call["user"]))
        async with aiohttp.ClientSession(self.pull.endpoint, connector=connector) as session:
            data = orjson.dumps(body) if body else None
            async with session.request(method, path, data=data, headers=headers) as answer:
                return answer.status, answer.headers.get("Content-Type", ""), await _shown(answer, call)


async def _shown(answer: aiohttp.ClientResponse, call: dict[str, Any]) -> Any:
    if "watch=1" in call["request"] and answer.status == 200:
        ends = "timeoutSeconds" in call["request"]
        text = b""
        async with asyncio.timeout(30.0):
            async for chunk in answer.content.iter_any():
                text += chunk
                if not ends and text.count(b"\n") >= len(call["body"]):
                    break  # it was cut by who recorded it
        events = [orjson.loads(line) for line in text.splitlines()]
        return [f"{e['type']} {e['object']['kind']} {e['object']['metadata']['name']}" for e in events]
    text = await answer.read()
    if "json" not in answer.headers.get("Content-Type", ""):
        return text.decode()
    return reduced(orjson.loads(text))


def reduced(tree: dict[str, Any]) -> Any:
    kind = tree.get("kind", "")
    if kind == "Status":
        return {key: value for key, value in tree.items() if key != "metadata"}
    if kind == "Table":
        columns = [column["name"] for column in tree["columnDefinitions"]]
        return {"kind": kind, "columns": columns, "rows": len(tree["rows"])}
    if kind.endswith("List"):
        shown = ["/".join(filter(None, (i["metadata"].get("namespace"), i["metadata"]["name"]))) for i in tree["items"]]
        return {
            "kind": kind,
            "apiVersion": tree["apiVersion"],
            "metadataKeys": sorted(set(tree["metadata"]) - {"continue", "remainingItemCount"}),
            "items": shown,
        }
    if kind and kind != "APIVersions":
        meta = tree["metadata"]
        marks = {part: sorted(meta.get(part) or {}) for part in ("annotations", "labels")}
        return {"kind": kind, "apiVersion": tree["apiVersion"], "name": meta.get("name", ""), **marks}
    return tree


def even(value: Any) -> str:
    text = str(value)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uuid>", text)
    text = re.sub(r"(https?://)?127\.0\.0\.1:\d+", "<endpoint>", text)
    return text.replace("default/web", "default/<pod>").strip()


@pytest.fixture
async def stage(pull: Pull) -> AsyncIterator[dict[str, Member]]:
    members = {name: await pull.world.member(name) for name in ("member1", "member3")}
    for name, nodes in (("member1", ("m1-a", "m1-b")), ("member3", ("m3-a",))):
        for node in nodes:
            await members[name].client.resource(NODES).create({"metadata": {"name": node}})
    first = members["member1"]
    for name in ("kube-root-ca.crt", "seen"):
        made = {"metadata": {"name": name, "namespace": "default"}}
        await eventually(lambda made=made: _ensure(first, made))
    await first.client.resource(PODS).create(pod("web"))
    await join(first.client, pull.world.hub, first.describe())
    await pull.register(members["member3"], EVERYTHING)
    async with AsyncExitStack():
        for name, member in members.items():
            await pull.world.ready(name)
            role = member.client.resource(objects.CLUSTER_ROLES)
            await eventually(lambda role=role: role.get("karmada-impersonator"))
        yield members


async def _ensure(member: Member, tree: dict[str, Any]) -> bool:
    found = (await member.client.resource(objects.CONFIG_MAPS).list()).items
    if tree["metadata"]["name"] not in [m["metadata"]["name"] for m in found]:
        await member.client.resource(objects.CONFIG_MAPS).create(tree)
    return True


async def test_every_recorded_call_through_the_proxy_is_answered_alike(
    pull: Pull, stage: dict[str, Member], tmp_path: Path
) -> None:
    caller = Caller(pull, tmp_path)
    differences = []
    for call in calls("cluster-proxy"):
        call = {**call, "request": call["request"].replace("<pod>", "web")}
        code, content, body = await caller(call)
        if any(call["request"].endswith(end) for end in OTHERWISE) and call["user"] == "admin":
            assert code in (200, 404, 500, 501, 503), call
            continue
        wanted = (call["code"], call["headers"]["Content-Type"], even(call["body"]))
        if (code, content, even(body)) != wanted:
            differences.append((call["user"], call["request"], (code, content, even(body)), wanted))
    assert not differences, differences


GRANT = {
    "apiGroups": ["cluster.karmada.io"],
    "resources": ["clusters/proxy"],
    "resourceNames": ["member1"],
    "verbs": ["*"],
}
GRANTED_TO = [
    objects.user_subject("dev"),
    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"},
    {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "ops"},
    objects.account_subject("robot", "default"),
]
READER = {"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "list", "watch"]}


async def impersonated(member: Member) -> dict[str, list[str]]:
    role = await member.client.resource(objects.CLUSTER_ROLES).get("karmada-impersonator")
    return {rule["resources"][0]: rule["resourceNames"] for rule in role.get("rules") or ()}


async def test_a_grant_of_the_proxy_is_worth_what_was_recorded(
    pull: Pull, stage: dict[str, Member], tmp_path: Path
) -> None:
    hub, member = pull.world.hub, stage["member1"]
    bindings = hub.resource(objects.CLUSTER_ROLE_BINDINGS)
    await hub.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("proxy-dev", [GRANT], {}))
    await bindings.create({**objects.cluster_role_binding("proxy-dev", {}, {}), "subjects": GRANTED_TO})
    trace = yaml.safe_load((RECORDED / "cluster-proxy-unified-auth-group" / "trace" / "01-granted.yaml").read_text())
    known = trace["members"]["member1"]["ClusterRole.rbac.authorization.k8s.io karmada-impersonator"]["rules"]

    async def named() -> bool:
        found = await impersonated(member)
        assert {"dev", "system:admin"} <= set(found["users"])
        assert {"devs", "ops", "system:masters"} == set(found["groups"])
        assert "robot" in found["serviceaccounts"]
        # The recorded installation gave the proxy to its own controllers as well.
        recorded = {rule["resources"][0]: set(rule["resourceNames"]) for rule in known}
        assert all(set(names) - {user_of("karmada-gateway")} <= recorded[kind] for kind, names in found.items())
        assert "dev" not in (await impersonated(stage["member3"]))["users"]
        return True

    await eventually(named)
    caller = Caller(pull, tmp_path)
    differences = []
    for number, call in enumerate(calls("cluster-proxy-unified-auth-group")):
        if "in the member to the group" in call.get("note", ""):
            await member.client.resource(objects.CLUSTER_ROLES).create(objects.cluster_role("reader", [READER], {}))
            group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}
            made = objects.cluster_role_binding("reader", group, {})
            await member.client.resource(objects.CLUSTER_ROLE_BINDINGS).create(made)
        if "after the grant was removed" in call.get("note", ""):
            await bindings.delete("proxy-dev")
        code, content, body = await caller({**call, "request": call["request"].replace("<pod>", "web")})
        if "Impersonate-User" in (call.get("requestHeaders") or {}):
            # The recorded hub words this by a permission that came with Kubernetes 1.36.
            assert (code, body["reason"]) == (403, "Forbidden")
            continue
        wanted = (call["code"], call["headers"]["Content-Type"], even(call["body"]).replace("<pod>", "web"))
        if (code, content, even(body)) != wanted:
            differences.append((number, call["request"], (code, content, even(body)), wanted))
    assert not differences, differences

    async def revoked() -> bool:
        found = await impersonated(member)
        assert "dev" not in found["users"]
        assert "serviceaccounts" not in found or "robot" not in found["serviceaccounts"]
        return True

    await eventually(revoked)
