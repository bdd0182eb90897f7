"""Addresses of Services of type LoadBalancer, as a cloud would give them."""

from karmada.machinery.committer import Committer
from karmada.machinery.controller import DONE, Result, own_key
from karmada.machinery.informers.cache import Key
from karmada.machinery.transport import JSONObject
from karmada.simulator.workloads.context import Workloads
from karmada.simulator.workloads.kinds import SERVICES

COMPONENT = "service-controller"


class LoadBalancerController:
    """Assigns addresses to Services of type LoadBalancer; one belongs to a Service for as long as it wants one."""

    def __init__(self, context: Workloads) -> None:
        self._context = context
        self._services = context.trees(SERVICES)
        self._commit = Committer(context.client.resource(SERVICES))
        self._given: dict[str, Key] = {}
        self.controller = context.controller(COMPONENT, self.reconcile, (self._services,))
        self.controller.watch(self._services, own_key)

    async def reconcile(self, key: Key) -> Result:
        """Give one Service its address, or take it away."""
        service = self._services.get(key.name, key.namespace)
        wants = (
            service is not None
            and service["spec"].get("type") == "LoadBalancer"
            and not service["spec"].get("loadBalancerClass")
        )
        if service is None or not wants:
            self._given = {address: owner for address, owner in self._given.items() if owner != key}
        if service is None:
            return DONE
        present = [one.get("ip") for one in addresses(service)]
        wanted = [{"ip": self._address(key, service, present), "ipMode": "VIP"}] if wants else []

        def decide(seen: JSONObject) -> JSONObject:
            balancer = {"ingress": wanted} if wanted else {}
            return seen | {"status": (seen.get("status") or {}) | {"loadBalancer": balancer}}

        if bool(wanted) != bool(present) or (wanted and present != [wanted[0]["ip"]]):
            await self._commit.commit(service, decide)
            if wanted:
                self._context.event(COMPONENT, service, "Normal", "EnsuredLoadBalancer", "Ensured load balancer")
        return DONE

    def _address(self, key: Key, service: JSONObject, present: list[str | None]) -> str:
        wanted = service["spec"].get("loadBalancerIP") or (present[0] if present else None)
        if wanted and self._given.get(wanted, key) == key:
            self._given[wanted] = key
            return str(wanted)
        known = next((address for address, owner in self._given.items() if owner == key), None)
        if known is not None:
            return known
        taken = {one.get("ip") for other in self._services.values() for one in addresses(other)} | self._given.keys()
        number = 1
        while (address := f"172.18.{number >> 8 & 255}.{number & 255}") in taken:
            number += 1
        self._given[address] = key
        return address


def addresses(service: JSONObject) -> list[JSONObject]:
    """The addresses a Service has now."""
    return ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
