"""Follows ingresses, Services, endpoints, clusters and certificates, and keeps the routes and endpoints of the moment.

Three reconcilers, each level-triggered and each with its own keys, so that what is wrong with one Service or Secret
stays with it: the table of routes, the endpoints of a Service, the certificate in a Secret.

Endpoints come from slices that were exported to the control plane (ServiceImport), else from the members themselves:
the providers of a MultiClusterService, else the clusters that the Service was propagated to.
"""

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass

from OpenSSL import SSL

from karmada.api import labels
from karmada.api.cluster.v1alpha1 import Cluster
from karmada.api.names import binding_name
from karmada.api.networking.v1alpha1 import MultiClusterIngress, MultiClusterService
from karmada.api.work.v1alpha2 import ResourceBinding
from karmada.apiserver.requests import offload
from karmada.gateway.balancing import Balancer
from karmada.gateway.certificates import BadCertificate, Certificates, context_of
from karmada.gateway.endpoints import (
    DERIVED,
    Endpoint,
    Objections,
    Standing,
    declared_ports,
    of_slices,
    port_name,
    provider_of,
    standing,
)
from karmada.gateway.gateway_api import GatewayApi
from karmada.gateway.making import NOTHING, made
from karmada.gateway.members import SLICES, MemberSlices, OpenMember, ServiceKey
from karmada.gateway.routes import IngressKey, Problem, Table
from karmada.gateway.rules import Backend
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result
from karmada.machinery.errors import Forbidden, NotFound
from karmada.machinery.informers.cache import Change, Item
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects
from karmada.membership.component_roles import CERTIFICATE_ROLE, user_of
from karmada.works.networks import Network
from karmada.works.networks import declared as declared_network

SERVICES = GroupVersionResource("", "v1", "services")
ROUTES = "routes"
UNHEARD_SECONDS = 5.0
PLACE = 200
"""What a path of an HTTPRoute counts for, in bytes of an ingress."""
REST = 10
"""How many times longer than it took to make the table it stays."""
REREAD_SECONDS = 60.0
"""How soon a renewed certificate is used: the gateway may read Secrets by name, not follow them."""


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What is known of a Service that routes need."""

    clusters: tuple[str, ...] = ()
    """Those with ready endpoints."""
    blocked: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class GatewayReconcilers:
    """The routes, endpoints and certificates of the moment."""

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        open_member: OpenMember,
        certificates: Certificates,
        report: Callable[[IngressKey], None],
        class_name: str = "",
        clock: Clock = REAL,
        direct: Container[str] = (),
    ) -> None:
        """`report` hears of ingresses whose status may have to change; `direct` are clusters whose endpoints are
        connected to at their own addresses."""
        self._client = client
        self._direct = direct
        self._objections = Objections()
        self._report = report
        self._class = class_name
        self._certificates = certificates
        self.made = NOTHING
        self.balancers: dict[Backend, Balancer] = {}
        self.states: dict[ServiceKey, ServiceState] = {}
        self.secrets: dict[ServiceKey, SSL.Context | Problem] = {}
        """By namespace and name of the Secret."""
        self._balanced: dict[ServiceKey, list[Backend]] = {}
        """The backends of each Service that have a balancer."""
        self._clock = clock
        self._rested = 0.0
        """From when on the table may be made again."""
        self.ingresses = informers.of(MultiClusterIngress)
        self._exposed = informers.of(MultiClusterService)
        self._clusters: Informer[Cluster] = informers.of(Cluster)
        self._bindings = informers.of(ResourceBinding)
        self._services = informers.resource(SERVICES)
        self._slices = informers.resource(SLICES)
        self._slices.add_index("service", _service_of)
        needs = (self.ingresses, self._exposed, self._clusters, self._bindings, self._services, self._slices)
        self.routes: Controller[str] = Controller(
            "gateway-routes", self.reconcile_routes, workers=1, needs=needs, clock=clock
        )
        self.services: Controller[ServiceKey] = Controller(
            "gateway-services", self.reconcile_service, needs=needs, clock=clock
        )
        self.certificates: Controller[ServiceKey] = Controller(
            "gateway-certificates", self.reconcile_certificate, workers=2, needs=(self.ingresses,), clock=clock
        )
        self.members = MemberSlices(open_member, self._enqueue, clock)
        self.api = GatewayApi(client, informers, lambda: self.routes.enqueue(ROUTES), class_name or "karmada", clock)
        self.routes.watch(self.ingresses, self._of_ingress)
        self.services.watch(self._services, lambda change: self._if_wanted(change.key.namespace, change.key.name))
        self.services.watch(self._exposed, lambda change: self._if_wanted(change.key.namespace, change.key.name))
        self.services.watch(self._slices, self._of_slice)
        self.services.watch(self._bindings, self._of_binding)
        self.services.watch(self._clusters, self._of_cluster)
        self.routes.enqueue(ROUTES)
        self.ready = False
        """Whether the routes of the start are known."""

    @property
    def controllers(self) -> tuple[Controller[str], Controller[ServiceKey], Controller[ServiceKey], Controller[str]]:
        """What has to run."""
        return self.routes, self.services, self.certificates, self.api.controller

    # The table.

    @property
    def table(self) -> Table:
        """The routes of the moment."""
        return self.made.table

    async def reconcile_routes(self, _: str) -> Result:
        """Make the table anew, and have Services and Secrets looked at that it needs now or no longer."""
        if not self.api.known:
            return DONE  # comes again when it is: hosts belong to whoever named them first
        started = self._clock.monotonic()
        if started < self._rested:
            return RequeueAfter(self._rested - started)
        items, routes = self.ingresses.all_items(), self.api.routes()
        size = sum(item.cost for item in items) + PLACE * sum(len(route.places) for route in routes)
        now = self.made = await offload.run(size, made, [item.value for item in items], self._class, routes, self.made)
        # Who edits a large ingress in a loop does not take the time in which requests are carried.
        ended = self._clock.monotonic()
        self._rested = ended + REST * (ended - started)
        for service in now.stale:
            self.services.enqueue(service)
        for secret in [secret for secret in self.secrets if secret not in now.certified]:
            del self.secrets[secret]
        for secret in now.certified:
            if secret not in self.secrets:
                self.certificates.enqueue(secret)
        self._use_certificates()
        for ingress in now.touched:
            self._report(ingress)
        self.ready = True
        return DONE

    # Services.

    async def reconcile_service(self, key: ServiceKey) -> Result:
        """Find the endpoints of a Service."""
        backends = self.made.wanted.get(key, [])
        for backend in self._balanced.get(key, ()):
            if backend not in self.made.users:
                self.balancers.pop(backend, None)
        if not backends:
            self._balanced.pop(key, None)
            self.states.pop(key, None)
            await self.members.follow(key, set())
            return DONE
        namespace, name = key
        service = self._services.get(name, namespace)
        exposed = self._exposed.get(name, namespace)
        imported = self._imported(key)
        clusters = set() if imported else self._running(key, exposed)
        await self.members.follow(key, clusters)
        slices = imported or self.members.slices(key)
        declared = declared_ports(service or self._services.get(f"{DERIVED}{name}", namespace), exposed)
        problems: list[Problem] = []
        if service is None and exposed is None and not imported:
            problems.append(Problem("ServiceNotFound", f"there is no Service {namespace}/{name}"))
        elif not imported and not clusters:
            text = f"Service {namespace}/{name} was propagated to no cluster: is there a policy for it?"
            problems.append(Problem("ServiceNotPropagated", text))
        unheard = self.members.unheard(key)
        for cluster, why in unheard.items():
            text = f"the endpoints of {namespace}/{name} in {cluster} are not known: {why}"
            problems.append(Problem("EndpointsUnknown", text))
        self._place(key, backends, declared, slices, problems)
        # Why a member does not answer becomes known later, without an event.
        return RequeueAfter(UNHEARD_SECONDS) if unheard else DONE

    def _place(
        self,
        key: ServiceKey,
        backends: Sequence[Backend],
        declared: list[tuple[str, int]],
        slices: list[tuple[str, JSONObject]],
        problems: list[Problem],
    ) -> None:
        seen: dict[str, Standing] = {}
        refused: dict[str, str] = {}
        self._balanced[key] = list(backends)
        for backend in backends:
            port = port_name(backend.port, declared)
            if port is None and not problems:
                known = ", ".join(f"{number} {named}".strip() for named, number in declared) or "none"
                text = f"Service {key[0]}/{key[1]} has no port {backend.port}; it has: {known}"
                problems.append(Problem("PortNotFound", text))
            found = of_slices(slices, key[0], port) if port is not None else []
            found = self._without_refused(found, refused)
            stands = {each.cluster: standing(self._clusters.get(each.cluster)) for each in found}
            seen |= stands
            balancer = self.balancers.setdefault(backend, Balancer())
            balancer.update(
                [each for each in found if stands[each.cluster] is Standing.UP],
                [each for each in found if stands[each.cluster] is Standing.DOWN],
            )
            if not (balancer.endpoints or balancer.spare) and not problems and not refused:
                problems.append(Problem("NoEndpoints", f"no endpoint of {backend} is ready in any cluster"))
        problems += [
            Problem("AddressRefused", f"endpoints of {key[0]}/{key[1]} in {cluster} are left out: {why}")
            for cluster, why in sorted(refused.items())
        ]
        state = ServiceState(
            tuple(sorted(name for name, how in seen.items() if how is not Standing.BLOCKED)),
            tuple(sorted(name for name, how in seen.items() if how is Standing.BLOCKED)),
            tuple(problems),
        )
        if self.states.get(key) != state:
            self.states[key] = state
            for ingress in {ingress for backend in backends for ingress in self.made.users.get(backend, ())}:
                self._report(ingress)

    def _without_refused(self, found: list[Endpoint], refused: dict[str, str]) -> list[Endpoint]:
        """The endpoints to which a connection may be made; the others' clusters are noted with the first reason."""
        addresses: dict[str, list[str]] = {}
        for each in found:
            if each.cluster in self._direct:
                addresses.setdefault(each.cluster, []).append(each.address)
        objections = {
            name: self._objections.to(name, declared_network(cluster), given)
            for name, given in addresses.items()
            if (cluster := self._clusters.get(name)) is not None
        }
        kept = []
        for each in found:
            if why := objections.get(each.cluster, {}).get(each.address):
                refused.setdefault(each.cluster, why)
            else:
                kept.append(each)
        return kept

    def _imported(self, key: ServiceKey) -> list[tuple[str, JSONObject]]:
        """Slices of a Service that were exported to the control plane, with their clusters."""
        namespace, name = key
        clusters = [item.key.name for item in self._clusters.all_items()]
        found = []
        for service in (name, f"{DERIVED}{name}"):
            for one in self._slices.indexed("service", f"{namespace}/{service}"):
                cluster = provider_of(one, clusters)
                if cluster:
                    found.append((cluster, one))
        return found

    def _running(self, key: ServiceKey, exposed: MultiClusterService | None) -> set[str]:
        """The clusters that are asked for the endpoints of a Service."""
        namespace, name = key
        known = {item.key.name for item in self._clusters.all_items()}
        if exposed is not None and exposed.spec.provider_clusters:
            return known & {provider.name for provider in exposed.spec.provider_clusters}
        binding = self._bindings.get(binding_name("Service", name), namespace)
        if binding is not None:
            return known & {target.name for target in binding.spec.clusters}
        return known if exposed is not None else set()

    # Certificates.

    async def reconcile_certificate(self, key: ServiceKey) -> Result:
        """Read the certificate of a Secret; again after a while, as it may be renewed."""
        if key not in self.made.certified:
            return DONE
        namespace, name = key
        found: SSL.Context | Problem
        try:
            secret = await self._client.resource(objects.SECRETS).get(name, namespace)
            found = context_of(objects.decoded(secret))
        except NotFound:
            found = Problem("SecretNotFound", f"there is no Secret {namespace}/{name}")
        except Forbidden:
            text = (
                f"the gateway may not read Secret {namespace}/{name}: kubectl create rolebinding karmada-gateway -n "
                f"{namespace} --clusterrole={CERTIFICATE_ROLE} --user={user_of('karmada-gateway')}"
            )
            found = Problem("SecretForbidden", text)
        except BadCertificate as error:
            found = Problem("BadCertificate", f"Secret {namespace}/{name}: {error}")
        users = self.made.certified.get(key)
        if users is None:  # What is known is not read again when somebody needs it.
            return DONE
        if self.secrets.get(key) != found:
            self.secrets[key] = found
            self._use_certificates()
            for ingress in users:
                self._report(ingress)
        return RequeueAfter(REREAD_SECONDS)

    def _use_certificates(self) -> None:
        contexts = {}
        for host, wanted in self.table.certificates.items():
            found = self.secrets.get((wanted.ingress.namespace, wanted.secret))
            if isinstance(found, SSL.Context):
                contexts[host] = found
        self._certificates.replace(contexts)

    # What a change concerns.

    def _of_ingress(self, change: Change[MultiClusterIngress]) -> list[str]:
        """The table, unless only the status of an ingress changed, which gateways write themselves."""
        self._report(IngressKey(*change.key))
        if change.old is not None and change.new is not None:
            before, after = change.old.value.metadata, change.new.value.metadata
            leaves = before.deletion_timestamp != after.deletion_timestamp
            if before.generation == after.generation and after.generation and not leaves:
                return []
        return [ROUTES]

    def _enqueue(self, key: ServiceKey) -> None:
        self.services.enqueue(key)

    def _if_wanted(self, namespace: str, name: str) -> list[ServiceKey]:
        names = (name, name.removeprefix(DERIVED))
        return [(namespace, each) for each in dict.fromkeys(names) if (namespace, each) in self.made.wanted]

    def _of_slice(self, change: Change[JSONObject]) -> list[ServiceKey]:
        services = {service for item in (change.old, change.new) if item is not None for service in _service_of(item)}
        return [key for service in services for key in self._if_wanted(*service.split("/", 1))]

    def _of_binding(self, change: Change[ResourceBinding]) -> list[ServiceKey]:
        resource = change.item.value.spec.resource
        return self._if_wanted(resource.namespace, resource.name) if resource.kind == "Service" else []

    def _of_cluster(self, change: Change[Cluster]) -> list[ServiceKey]:
        old, new = (item.value if item is not None else None for item in (change.old, change.new))
        return list(self.made.wanted) if old is None or new is None or _route(old) != _route(new) else []


def _route(cluster: Cluster) -> tuple[Standing, Network | None]:
    """What of a cluster decides whether its endpoints are asked."""
    return standing(cluster), declared_network(cluster)


def _service_of(item: Item[JSONObject]) -> list[str]:
    name = (item.value["metadata"].get("labels") or {}).get(labels.KUBERNETES_SERVICE_NAME)
    return [f"{item.key.namespace}/{name}"] if name else []
