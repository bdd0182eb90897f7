"""Reads what a simulation is about: bindings as they are, or templates under the policies that would choose them."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from karmada.api import names
from karmada.api.codec import from_tree
from karmada.api.feature_gates import FeatureGates
from karmada.api.policy.v1alpha1 import ClusterPropagationPolicy, PropagationPolicy, ResourceSelector
from karmada.api.work.v1alpha2 import ClusterResourceBinding, ResourceBinding
from karmada.explain.errors import NoSuchKind, NothingToPlace, WouldBeRefused
from karmada.explain.simulate.subjects import POLICY_KINDS, Binding, Policies, Subject, existing, subject, with_files
from karmada.machinery.client import Client
from karmada.machinery.discovery import ApiResource, UnknownKind
from karmada.machinery.errors import ApiError, BadRequest, Invalid, NotFound
from karmada.machinery.resource import Scope
from karmada.policies.matching import Match, match, subject_of

JSONObject = dict[str, Any]
_DENIED = re.compile(r"denied (the )?request")
"""What webhooks and admission policies say, and rights never."""


async def all_subjects(hub: Client, namespace: str, replicas: int | None) -> list[Subject]:
    """Everything that is propagated, in one namespace or (if it is empty) in all of them and cluster-wide."""
    bindings, wide = await asyncio.gather(
        hub.of(ResourceBinding).list(Scope(namespace)), hub.of(ClusterResourceBinding).list()
    )
    return [existing(one, replicas) for one in (*bindings.items, *(() if namespace else wide.items))]


async def subjects(
    hub: Client,
    items: Sequence[JSONObject],
    named: Sequence[JSONObject],
    namespace: str,
    replicas: int | None,
    gates: FeatureGates,
) -> list[Subject]:
    """The templates among `items` (of files), those that exist and are named, and those that policies of files choose.

    `namespace` is where objects go that name none.
    """
    items = [await _kept(hub, item, namespace) for item in items]
    known, known_wide = await asyncio.gather(hub.of(PropagationPolicy).list(), hub.of(ClusterPropagationPolicy).list())
    policies = with_files(Policies(known.items, known_wide.items), items, namespace)
    templates = [item for item in items if _is_template(item)]
    templates += named
    seen = {_identity(item) for item in templates}
    for item in await _chosen_by(hub, [item for item in items if item["kind"] in POLICY_KINDS], namespace):
        if _identity(item) not in seen:
            templates.append(item)
            seen.add(_identity(item))
    if not templates:
        raise NothingToPlace("nothing to place: the files hold policies only, and they select nothing that exists")
    return [await subject(item, policies, await _binding(hub, item), replicas, gates) for item in templates]


def _is_template(item: JSONObject) -> bool:
    """Karmada's own kinds are never propagated."""
    return not item["apiVersion"].partition("/")[0].endswith("karmada.io")


async def _kind(hub: Client, api_version: str, kind: str) -> ApiResource:
    try:
        return await hub.mapper.of_kind(api_version, kind)
    except UnknownKind:
        raise NoSuchKind(f'no matches for kind "{kind}" in version "{api_version}"') from None


async def _kept(hub: Client, item: JSONObject, namespace: str) -> JSONObject:
    """An object of a file as the control plane would keep it, in its namespace and with its defaults: a dry run asks.

    Where whoever asks may not write, or the namespace is not there yet, the object stays as the file has it.
    """
    kind = await _kind(hub, item["apiVersion"], item["kind"])
    about = item["metadata"]
    if kind.namespaced and not about.get("namespace"):
        about = {**about, "namespace": namespace}
    place = about["namespace"] if kind.namespaced else ""
    # Unknown fields are the business of whoever read the file.
    resource = replace(hub.resource(kind.type), field_validation="Ignore")
    try:
        try:
            live = await resource.get(about["name"], place)
        except NotFound:
            kept = await resource.create({**item, "metadata": about}, place, dry_run=True)
        else:
            kept = await resource.update({**item, "metadata": live["metadata"]}, dry_run=True)
    except ApiError as error:
        if isinstance(error, BadRequest | Invalid) or _DENIED.search(error.message):
            causes = [f"{cause.get('field', '')}: {cause.get('message', '')}" for cause in error.causes]
            reason = "; ".join(causes) or error.message
            raise WouldBeRefused(f"{item['kind']} {about['name']} would be refused: {reason}") from None
        kept = item
    return {**kept, "metadata": about}


async def _chosen_by(hub: Client, policies: list[JSONObject], namespace: str) -> list[JSONObject]:
    """Templates that exist and that policies of files choose."""
    found: dict[tuple[str, ...], JSONObject] = {}
    for policy in policies:
        own = policy["kind"] == "PropagationPolicy"
        where = policy["metadata"].get("namespace") or namespace
        for number, tree in enumerate((policy.get("spec") or {}).get("resourceSelectors") or ()):
            selector = from_tree(
                {**tree, **({"namespace": tree.get("namespace") or where} if own else {})}, ResourceSelector
            )
            try:
                kind = await _kind(hub, selector.api_version, selector.kind)
            except NoSuchKind as error:
                field = f"{policy['kind']} {policy['metadata']['name']}: spec.resourceSelectors[{number}]"
                raise NoSuchKind(f"{field}: {error}") from None
            scope = Scope(selector.namespace if kind.namespaced else "")
            for item in (await hub.resource(kind.type).list(scope)).items:
                if match(selector, subject_of(item)) is not Match.NONE:
                    found[_identity(item)] = item
    return list(found.values())


def _identity(item: JSONObject) -> tuple[str, ...]:
    about = item["metadata"]
    return item["apiVersion"], item["kind"], about.get("namespace", ""), about["name"]


async def _binding(hub: Client, item: JSONObject) -> Binding | None:
    about = item["metadata"]
    name = names.binding_name(item["kind"], about["name"])
    try:
        if about.get("namespace"):
            return await hub.of(ResourceBinding).get(name, about["namespace"])
        return await hub.of(ClusterResourceBinding).get(name)
    except NotFound:
        return None
