"""Reads what is judged. What cannot be read is a finding too."""

import asyncio
import base64
import time
from collections.abc import Awaitable, Mapping
from typing import Any

import orjson

from karmada.api.timestamps import parse
from karmada.explain.check import findings
from karmada.explain.check.findings import Finding
from karmada.explain.connection import connection
from karmada.explain.errors import NoAnswer
from karmada.explain.members import Members
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError, ServerError
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource

JSONObject = dict[str, Any]
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
LEAVING = (
    GroupVersionResource("", "v1", "namespaces"),
    GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters"),
    GroupVersionResource("work.karmada.io", "v1alpha1", "works"),
    GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings"),
    GroupVersionResource("work.karmada.io", "v1alpha2", "clusterresourcebindings"),
    GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies"),
    GroupVersionResource("policy.karmada.io", "v1alpha1", "clusterpropagationpolicies"),
)
HOOKS = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


async def everything(hub: Client, members: Members, certificates: Mapping[str, bytes], systems: str) -> list[Finding]:
    """All findings, the control plane's first; when it cannot be reached there is only that one.

    `certificates` are those by which the control plane is reached, as PEM by what they are called; `systems` is the
    namespace of its components.
    """
    try:
        version = orjson.loads(await hub.transport.raw("GET", "/version"))
    except ApiError as error:
        remedy = "Check the address in the kubeconfig and whether the control plane runs."
        return [Finding("control plane", connection(error), "broken", remedy)]
    found = [Finding("control plane", f"answers, {version.get('gitVersion', 'unknown version')}")]
    found += [findings.certificate(what, _days(pem)) for what, pem in certificates.items()]
    jobs: list[tuple[str, Awaitable[list[Finding]]]] = [
        ("readiness", _readiness(hub)),
        ("clock", _clock(hub, "the control plane")),
        ("components", _leases(hub, systems)),
        ("clusters", _clusters(hub, members)),
        ("aggregated APIs", _services(hub)),
        ("webhooks", _webhooks(hub)),
        ("deletions", _stuck(hub)),
        ("propagation", _bindings(hub)),
    ]
    results = await asyncio.gather(*(job for _, job in jobs), return_exceptions=True)
    for (what, _), result in zip(jobs, results, strict=True):
        if isinstance(result, ApiError):
            found.append(
                Finding(what, f"could not be looked at: {result}", "warning", "Ask as somebody who may read it.")
            )
        elif isinstance(result, BaseException):
            raise result
        else:
            found += result
    return found


def _seconds(text: str) -> float:
    return parse(text).timestamp()


async def _all(hub: Client, type_: GroupVersionResource, namespace: str = "") -> list[JSONObject]:
    return (await hub.resource(type_).list(Scope(namespace))).items


async def _readiness(hub: Client) -> list[Finding]:
    if not await _fails(hub, "/readyz"):
        return [Finding("readiness", "every check of the control plane passes")]
    return [findings.unready(storage=await _fails(hub, "/readyz/etcd"))]


async def _fails(hub: Client, path: str) -> bool:
    """Whether a page of checks fails: by its status, or by its lines where the transport has no status."""
    try:
        return b"[-]" in await hub.transport.raw("GET", path)
    except ServerError:
        return True


async def _clock(client: Client, what: str) -> list[Finding]:
    """The server's clock, from the time it would give to a new object."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "karmadactl-check-"}}
    made = await client.resource(CONFIG_MAPS).create(body, "default", dry_run=True)
    return [findings.skew(what, _seconds(made["metadata"]["creationTimestamp"]), time.time())]


def _days(pem: bytes) -> float:
    from cryptography.x509 import load_pem_x509_certificates

    ends = min(one.not_valid_after_utc.timestamp() for one in load_pem_x509_certificates(pem))
    return (ends - time.time()) / 86400


async def _leases(hub: Client, namespace: str) -> list[Finding]:
    type_ = GroupVersionResource("coordination.k8s.io", "v1", "leases")
    return findings.leases(await _all(hub, type_, namespace), time.time(), _seconds)


async def _clusters(hub: Client, members: Members) -> list[Finding]:
    type_ = GroupVersionResource("cluster.karmada.io", "v1alpha1", "clusters")
    items = await _all(hub, type_)
    if not items:
        remedy = "Join one: karmadactl join NAME --cluster-kubeconfig=FILE."
        return [Finding("clusters", "there are none", "warning", remedy)]

    async def one(item: JSONObject) -> list[Finding]:
        judged = findings.cluster(item)
        name = item["metadata"]["name"]
        client = members.client(name)
        start = time.monotonic()
        try:
            await members.in_time(client.transport.raw("GET", "/version"))
        except (ApiError, NoAnswer) as error:
            remedy = f"Check network and credentials: the control plane's proxy cannot reach {name}."
            return [judged, Finding(f"proxy to {name}", str(error), "broken", remedy)]
        elapsed = (time.monotonic() - start) * 1000
        found = [judged, Finding(f"proxy to {name}", f"answers in {elapsed:.0f} ms")]
        try:
            found += await members.in_time(_clock(client, name))
        except (ApiError, NoAnswer) as error:
            found.append(Finding(f"clock of {name}", f"could not be asked: {error}", "warning"))
        return found

    results = await asyncio.gather(*(one(item) for item in items))
    return [finding for result in results for finding in result]


async def _services(hub: Client) -> list[Finding]:
    return findings.services(await _all(hub, GroupVersionResource("apiregistration.k8s.io", "v1", "apiservices")))


async def _webhooks(hub: Client) -> list[Finding]:
    items: list[JSONObject] = []
    for plural in HOOKS:
        items += await _all(hub, GroupVersionResource("admissionregistration.k8s.io", "v1", plural))
    return findings.webhooks(items, lambda bundle: _days(base64.b64decode(bundle)))


async def _stuck(hub: Client) -> list[Finding]:
    lists = await asyncio.gather(*(_all(hub, type_) for type_ in LEAVING))
    return findings.stuck([item for items in lists for item in items], time.time(), _seconds)


async def _bindings(hub: Client) -> list[Finding]:
    return [findings.bindings(await _all(hub, GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")))]
