"""Services across clusters under faults: consumers end with the right endpoints, and planted bugs are found."""

from functools import partial
from typing import Any

import orjson
import pytest

from karmada.machinery.transport import Request, Transport, Verb
from karmada.testing.scenarios.federation import run_manager
from karmada.testing.scenarios.services import AGREED, OWN, SERVERS, scenario
from karmada.testing.world import Broken, Surroundings, explore


@pytest.mark.parametrize("seed", [1, 10])
def test_consumers_have_the_ready_endpoints_of_all_reachable_providers_in_the_end(seed: int) -> None:
    explore(scenario(), seed, SERVERS)


class Wrapped:
    """A transport with a bug: what is not said here is as it was."""

    def __init__(self, inner: Transport, _: Surroundings) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class KeepsWhatIsWithdrawn(Wrapped):
    """Takes no dispatched slice away from a consumer."""

    async def send(self, request: Request) -> bytes:
        works = request.resource.resource == "works" and request.verb is Verb.DELETE
        if works and request.name.startswith(("member1-", "member2-", "member3-")):
            return orjson.dumps({"kind": "Status", "status": "Success"})
        return await self._inner.send(request)


class MixesClustersUp(Wrapped):
    """Writes another provider's name on what a consumer gets."""

    async def send(self, request: Request) -> bytes:
        body = request.body
        if request.resource.resource == "endpointslices" and isinstance(body, bytes) and b"provision-cluster" in body:
            request = request._replace(body=body.replace(b'"member1"', b'"member2"'))
        return await self._inner.send(request)


@pytest.mark.parametrize(("bug", "rule"), [(KeepsWhatIsWithdrawn, AGREED), (MixesClustersUp, OWN)])
def test_a_planted_bug_is_found(bug: type[Wrapped], rule: str) -> None:
    with pytest.raises(Broken, match=f"^seed 1: {rule}"):
        explore(scenario(partial(run_manager, wrap=bug)), 1, SERVERS)
