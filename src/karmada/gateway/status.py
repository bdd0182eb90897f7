"""What the gateway says of an ingress in its status: where it is served, by which clusters, and what is not served."""

from collections.abc import Iterable, Sequence
from ipaddress import ip_address

import msgspec
from OpenSSL import SSL

from karmada.api.meta import Condition, set_condition
from karmada.api.networking.v1alpha1 import (
    IngressLoadBalancerIngress,
    IngressLoadBalancerStatus,
    MultiClusterIngress,
    MultiClusterIngressStatus,
    ServiceLocation,
)
from karmada.gateway.gateway_api import HTTP_ROUTES
from karmada.gateway.httproutes import KIND, Refusal
from karmada.gateway.members import ServiceKey
from karmada.gateway.reconcilers import GatewayReconcilers, ServiceState
from karmada.gateway.route_status import described as described_route
from karmada.gateway.routes import IngressKey, Problem
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock, rfc3339
from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Controller, Result
from karmada.machinery.transport import JSONObject

ACCEPTED, RESOLVED, SECURED = "RoutesAccepted", "BackendsResolved", "CertificatesResolved"


class StatusWriter:
    """Writes the status of ingresses; several gateways write the same, so none has to lead."""

    def __init__(self, client: Client, addresses: Sequence[str], clock: Clock = REAL) -> None:
        self._commit: Committer[MultiClusterIngress] = Committer(client.of(MultiClusterIngress))
        self._commit_route = Committer(client.resource(HTTP_ROUTES))
        self._addresses = tuple(addresses)
        self._clock = clock
        self.reconcilers: GatewayReconcilers
        """Set before it runs: each needs the other."""
        self.controller: Controller[IngressKey] = Controller("gateway-status", self.reconcile, workers=2, clock=clock)

    async def reconcile(self, key: IngressKey) -> Result:
        """Write the status of one ingress, unless it is true already or somebody else serves it."""
        if key.kind == KIND:
            await self._write_route(key)
            return DONE
        ingress = self.reconcilers.ingresses.get(key.name, key.namespace)
        if ingress is not None and key in self.reconcilers.table.problems:
            now = rfc3339(self._clock.now())

            def decide(seen: MultiClusterIngress) -> MultiClusterIngress:
                if self.reconcilers.made.generations.get(key) != seen.metadata.generation:
                    return seen  # The table knows nothing of it; the next one has this looked at again.
                status = described(self.reconcilers, key, self._addresses, now, seen)
                return msgspec.structs.replace(seen, status=status)

            await self._commit.commit(ingress, decide)
        return DONE

    async def _write_route(self, key: IngressKey) -> None:
        """Write the status of an HTTPRoute; take ours away where it is none of this gateway."""
        reconcilers = self.reconcilers
        tree = reconcilers.api.get(key.namespace, key.name)
        if tree is None:
            return
        conflicts = [Refusal(*problem) for problem in reconcilers.table.problems.get(key, ())]
        states = states_of(reconcilers, key).values()
        problems = [Refusal(*problem) for state in states for problem in state.problems]
        now, api = rfc3339(self._clock.now()), reconcilers.api

        def decide(seen: JSONObject) -> JSONObject:
            return described_route(seen, api.gateway, api.read(seen), conflicts, problems, now)

        await self._commit_route.commit(tree, decide)


def states_of(reconcilers: GatewayReconcilers, key: IngressKey) -> dict[ServiceKey, ServiceState]:
    """What is known of the Services that an ingress or route leads to."""
    services = reconcilers.table.services.get(key, {})
    return {name: reconcilers.states[name] for name in services if name in reconcilers.states}


def described(
    reconcilers: GatewayReconcilers, key: IngressKey, addresses: Iterable[str], now: str, ingress: MultiClusterIngress
) -> MultiClusterIngressStatus:
    """The status of an ingress."""
    table = reconcilers.table
    states = states_of(reconcilers, key)
    secrets = [
        reconcilers.secrets.get(
            (key.namespace, found.secret), Problem("SecretNotRead", f"{found.secret} was not read yet")
        )
        for found in table.certificates.values()
        if found.ingress == key
    ]
    groups: dict[str, Iterable[Problem]] = {
        ACCEPTED: table.problems[key],
        RESOLVED: [problem for state in states.values() for problem in state.problems],
        SECURED: [found for found in dict.fromkeys(secrets) if not isinstance(found, SSL.Context)],
    }
    conditions = ingress.status.conditions
    for kind, problems in groups.items():
        conditions = set_condition(conditions, _condition(kind, tuple(problems), ingress.metadata.generation, now))
    return msgspec.structs.replace(
        ingress.status,
        load_balancer=IngressLoadBalancerStatus(ingress=tuple(_entry(address) for address in addresses)),
        traffic_block_clusters=tuple(sorted({name for state in states.values() for name in state.blocked})),
        service_locations=tuple(
            ServiceLocation(name=name, clusters=state.clusters) for (_, name), state in sorted(states.items())
        ),
        conditions=conditions,
    )


def _condition(kind: str, problems: tuple[Problem, ...], generation: int, now: str) -> Condition:
    return Condition(
        type=kind,
        status="False" if problems else "True",
        reason=problems[0].reason if problems else "Served",
        message="; ".join(problem.message for problem in problems),
        last_transition_time=now,
        observed_generation=generation,
    )


def _entry(address: str) -> IngressLoadBalancerIngress:
    try:
        return IngressLoadBalancerIngress(ip=str(ip_address(address)))
    except ValueError:
        return IngressLoadBalancerIngress(hostname=address)
