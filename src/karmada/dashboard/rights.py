"""What a credential may list and watch: asked with that credential, one SelfSubjectAccessReview for each verb."""

import asyncio
from collections.abc import Iterable, Sequence

from karmada.dashboard.kinds import scope_of
from karmada.machinery.client import Client
from karmada.machinery.transport import GroupVersionResource

REVIEWS = GroupVersionResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews")


VERBS = ("list", "watch")
"""What following a kind takes; once it is followed, watching it is enough."""


async def refusals(
    hub: Client, kinds: Iterable[GroupVersionResource], namespace: str, verbs: Sequence[str] = VERBS
) -> dict[GroupVersionResource, str]:
    """The kinds that may not be followed in a namespace (empty: in all of them), and how to say so."""
    wanted = list(kinds)
    answers = await asyncio.gather(*(_refusal(hub, kind, namespace, verbs) for kind in wanted))
    return {kind: refusal for kind, refusal in zip(wanted, answers, strict=True) if refusal}


async def _refusal(hub: Client, kind: GroupVersionResource, namespace: str, verbs: Sequence[str]) -> str:
    space = scope_of(kind, namespace)
    for verb in verbs:
        attributes = {"verb": verb, "group": kind.group, "version": kind.version, "resource": kind.resource}
        if space:
            attributes["namespace"] = space
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        answer = await hub.resource(REVIEWS).create(review)
        if not (answer.get("status") or {}).get("allowed"):
            return f"you may not {verb} {kind.resource}{f'.{kind.group}' if kind.group else ''}{_where(kind, space)}"
    return ""


def _where(kind: GroupVersionResource, space: str) -> str:
    if space:
        return f" in the namespace {space}"
    namespaced = scope_of(kind, "any") != ""
    return " in all namespaces; choose a namespace that you may read" if namespaced else ""
