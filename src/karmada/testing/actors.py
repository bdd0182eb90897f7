"""Who may come to a control plane: tenants, operators, agents, components, strangers and nobody, for tests to act as.

    team = await tenant(federation.plane, "team-a")
    with pytest.raises(Forbidden):
        await team.client.resource(SECRETS).list()

Each has exactly the rights it has in a real one. `client` goes straight into the server; `over_https` takes the way of
everybody else, with a certificate or token of its own.
"""

from dataclasses import dataclass, field

from karmada.api.names import BOOTSTRAP_GROUP
from karmada.apiserver.auth.model import ANONYMOUS, UserInfo
from karmada.machinery.client import Client
from karmada.machinery.http.target import NOTHING, Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.membership import objects, token
from karmada.membership.credentials import ensure
from karmada.standalone.control_plane import ControlPlane, component_user

AUTHENTICATED = "system:authenticated"


@dataclass(frozen=True, slots=True)
class Actor:
    """One identity of a control plane."""

    plane: ControlPlane
    user: UserInfo
    token: str = field(default="", repr=False)

    @property
    def client(self) -> Client:
        """Straight into the server."""
        return Client(self.plane.server.direct(self.user, self.user.name), field_manager="test")

    def over_https(self, endpoint: str) -> Client:
        """Over a connection to where the control plane listens; close it after use."""
        authority = Material(self.plane.server.identity.authority.certificate_pem)
        return Client(HttpTransport(Target(endpoint, authority, identity=self._credentials())), field_manager="test")

    def _credentials(self) -> Identity:
        if self.token:
            return Identity(token=Material(self.token.encode()))
        if self.user is ANONYMOUS:
            return Identity(NOTHING)
        groups = [group for group in self.user.groups if group != AUTHENTICATED]
        certificate, key = self.plane.server.identity.authority.issue_client(self.user.name, groups)
        return Identity(Material(certificate), Material(key))


def anonymous(plane: ControlPlane) -> Actor:
    """Somebody without credentials."""
    return Actor(plane, ANONYMOUS)


def stranger(plane: ControlPlane, name: str = "stranger") -> Actor:
    """Somebody with credentials to whom nobody gave a right."""
    return Actor(plane, UserInfo(name, (AUTHENTICATED,)))


async def tenant(plane: ControlPlane, namespace: str, role: str = "edit") -> Actor:
    """Somebody whose only right is a RoleBinding to a ClusterRole (`view`, `edit`, `admin`) in one namespace."""
    actor = stranger(plane, f"{namespace}-{role}")
    await ensure(plane.client, objects.NAMESPACES, _namespace(namespace))
    binding = objects.role_binding(actor.user.name, namespace, objects.user_subject(actor.user.name))
    binding["roleRef"] |= {"kind": "ClusterRole", "name": role}
    await ensure(plane.client, objects.ROLE_BINDINGS, binding)
    return actor


async def operator(plane: ControlPlane, role: str) -> Actor:
    """Somebody with a ClusterRole everywhere."""
    actor = stranger(plane, f"operator-{role}")
    binding = objects.cluster_role_binding(actor.user.name, objects.user_subject(actor.user.name), {})
    binding["roleRef"]["name"] = role
    await ensure(plane.client, objects.CLUSTER_ROLE_BINDINGS, binding)
    return actor


async def agent(plane: ControlPlane, cluster: str) -> Actor:
    """The agent of a cluster in pull mode."""
    return Actor(plane, await plane.admit_agent(cluster))


async def bootstrapper(plane: ControlPlane) -> Actor:
    """Whoever has a token for registering a cluster."""
    made = token.new_token()
    await token.create(plane.client, made)
    groups = ("system:bootstrappers", BOOTSTRAP_GROUP, AUTHENTICATED)
    return Actor(plane, UserInfo(f"system:bootstrap:{made.id}", groups), str(made))


def component(plane: ControlPlane, name: str) -> Actor:
    """A component of the control plane itself."""
    return Actor(plane, component_user(name))


def _namespace(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
