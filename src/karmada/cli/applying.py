"""Client-side apply of one object, as kubectl does it, and the policies `--cluster` makes."""

import asyncio
import contextlib
from typing import Any

from karmada.api import client_apply, names
from karmada.cli.access import Access
from karmada.cli.flags import Values
from karmada.cli.openapi import merges, schema_of
from karmada.cli.progress import PAUSE
from karmada.cli.writing import Named, dry_run
from karmada.machinery.errors import AlreadyExists, Conflict, Invalid, NotFound
from karmada.machinery.resource import Propagation, Resource
from karmada.machinery.transport import PatchType

JSONObject = dict[str, Any]
GOING = 300.0
"""Seconds that something may take to go before it is created again."""


async def apply(access: Access, flags: Values, named: Named) -> tuple[JSONObject, str]:
    """Bring one object to the state given; the object and the word for what happened."""
    assert named.given is not None
    resource = named.resource(access, flags)
    dry = dry_run(flags)
    if flags.server_side:
        if dry.client:
            return named.given, "serverside-applied"
        manager = flags.field_manager if "field-manager" in flags.given else "kubectl"
        done = await resource.apply(named.given, field_manager=manager, force=flags.force_conflicts, dry_run=dry.server)
        return done, "serverside-applied"
    try:
        live = await resource.get(named.name, named.namespace)
    except NotFound:
        wanted = client_apply.remember(named.given)
        if dry.client:
            return wanted, "created"
        return await resource.create(wanted, named.namespace, dry_run=dry.server), "created"
    schema = merges(await schema_of(access.transport, named.kind), named.kind)
    patch = client_apply.patch(named.given, live, schema)
    if not patch:
        return live, "unchanged"
    if dry.client:
        return live, "configured"
    kind = PatchType.STRATEGIC if schema is not None else PatchType.MERGE
    try:
        done = await resource.patch(named.name, patch, named.namespace, kind=kind, dry_run=dry.server)
    except (Conflict, Invalid):
        if not flags.force or dry.server:
            raise
        return await _again(resource, flags, named), "configured"
    same = done["metadata"].get("resourceVersion") == live["metadata"].get("resourceVersion")
    return done, "unchanged" if same else "configured"


async def _again(resource: Resource[JSONObject], flags: Values, named: Named) -> JSONObject:
    """Delete what cannot be changed, and create it as it was given."""
    assert named.given is not None
    grace = flags.grace_period if flags.grace_period >= 0 else 0
    propagation = Propagation(flags.cascade.title())
    await resource.delete(named.name, named.namespace, propagation=propagation, grace_seconds=grace)
    wanted = client_apply.remember(named.given)
    async with asyncio.timeout(flags.timeout or GOING):
        while True:
            with contextlib.suppress(AlreadyExists):
                return await resource.create(wanted, named.namespace)
            await asyncio.sleep(PAUSE)


def policy_for(item: JSONObject, clusters: list[str], **spec: Any) -> JSONObject:
    """The policy that sends exactly one object to clusters."""
    about = item["metadata"]
    namespace, name = about.get("namespace", ""), about["name"]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy" if namespace else "ClusterPropagationPolicy",
        "metadata": {
            "name": names.policy_name(namespace, name, group_version_kind(item)),
            **({"namespace": namespace} if namespace else {}),
        },
        "spec": {
            **spec,
            "placement": {"clusterAffinity": {"clusterNames": clusters}},
            "resourceSelectors": [{"apiVersion": item["apiVersion"], "kind": item["kind"], "name": name}],
        },
    }


def group_version_kind(item: JSONObject) -> str:
    """`apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`."""
    version = str(item["apiVersion"])
    return f"{version if '/' in version else '/' + version}, Kind={item['kind']}"
