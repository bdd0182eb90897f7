"""`clusters/<name>/failurereview`: what would happen if the cluster failed, answered to a POST; nothing is written.

The answer names workloads of all namespaces, so it takes the right to create `clusters/failurereview`, which no role
but the administrator's has. One review is worked out at a time: it looks at every binding.
"""

import asyncio
from typing import Any

import orjson

from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.codec import decoder
from karmada.apiserver.failures import not_found
from karmada.apiserver.requests.model import Answer, AnyAnswer, Call, Context
from karmada.explain.simulate.failure import failure
from karmada.explain.simulate.outcome import Outcome, summary
from karmada.explain.simulate.terms import running
from karmada.machinery.client import Client
from karmada.machinery.errors import ApiError
from karmada.machinery.httpserver.failure import Failure

KIND = "ClusterFailureReview"
MOST = 1000
"""Workloads that are listed; the rest is counted."""


class FailureReview:
    """Answers reviews by the rules of the scheduler and the bindings of the control plane."""

    def __init__(self, hub: Client) -> None:
        self._hub = hub
        self._turn = asyncio.Lock()

    async def __call__(self, context: Context, call: Call) -> AnyAnswer:
        """Review the failure of one cluster."""
        served = call.served
        if context.store.get(served.key, "", call.name) is None:
            raise not_found(served.type.group, served.type.plural, call.name)
        clusters = [decoder(Cluster).decode(item.body) for item in context.store.list(served.key).items]
        async with self._turn:
            try:
                terms = await running(self._hub)
                found = await failure(self._hub, clusters, [call.name], terms)
            except ApiError as error:
                raise Failure(503, "ServiceUnavailable", f"the bindings could not be read: {error}") from error
        status: dict[str, Any] = {
            "summary": summary(found),
            "terms": terms.data(),
            "workloads": [_workload(one) for one in found[:MOST]],
        }
        if len(found) > MOST:
            status["remaining"] = len(found) - MOST
        version = f"{served.type.group}/{served.type.version}"
        review = {"apiVersion": version, "kind": KIND, "metadata": {"name": call.name}, "status": status}
        return Answer(201, orjson.dumps(review))


def _workload(one: Outcome) -> dict[str, Any]:
    fields = {"resource": one.name, "before": one.before, "after": one.after, "lostReplicas": one.lost}
    return fields | ({"refused": one.refused} if one.refused else {})
