"""How the control plane reaches a push cluster: its Cluster and Secret made into a transport.

The Secret holds `token` and `caBundle`, or a `kubeconfig`; `spec.apiEndpoint` wins over the kubeconfig's server. Of a
pull cluster its agent writes the Secret: where the control plane connects to is said by the Cluster alone. It is read
again when the member refuses the credentials or cannot be reached, so they may be rotated in place. What is wrong
with either is said as `MemberUnavailable`, never with a secret in it.
"""

import contextlib
from collections.abc import AsyncIterator

from karmada.api.cluster.v1alpha1 import Cluster, LocalSecretReference
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, NotFound, Unauthorized, Unavailable
from karmada.machinery.http.kubeconfig import KubeconfigError, from_bytes
from karmada.machinery.http.target import NOTHING, Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import Request, Transport, WatchStream
from karmada.membership import objects
from karmada.membership.members import MemberUnavailable

REREAD_SECONDS = 300.0
"""A Secret is read again after this time even when its credentials work."""
REREAD_PAUSE = 5.0
"""At least this long between two readings because of failures."""


class NoAddress(MemberUnavailable):
    """There are credentials of a member, and nothing says where it is."""


class SecretAccess:
    """An `OpenTransport` on the Secrets of a control plane."""

    def __init__(self, hub: Client, *, agent: str = "karmada-controller-manager", clock: Clock = REAL) -> None:
        self._hub = hub
        self._agent = agent
        self._clock = clock

    async def __call__(self, cluster: Cluster) -> Transport:
        """A transport to a member, as the account its Secret holds."""
        transport = RotatingTransport(self, cluster, self._agent, self._clock)
        await transport.prepare()
        return transport

    async def target(self, cluster: Cluster) -> Target:
        """Where a member is and who we are there."""
        reference = cluster.spec.secret_ref
        if reference is None:
            raise MemberUnavailable(f"cluster {cluster.metadata.name} does not have a secret")
        data = await self.content(cluster.metadata.name, reference)
        return target_of(cluster, data)

    async def content(self, cluster: str, reference: LocalSecretReference) -> dict[str, bytes]:
        """The content of a Secret that a Cluster names."""
        where = f"{reference.namespace}/{reference.name}"
        try:
            return objects.decoded(await self._hub.resource(objects.SECRETS).get(reference.name, reference.namespace))
        except NotFound:
            raise MemberUnavailable(f"the secret {where} of cluster {cluster} does not exist") from None
        except ApiError as error:
            raise MemberUnavailable(f"the secret {where} of cluster {cluster} cannot be read: {error}") from error


def target_of(cluster: Cluster, data: dict[str, bytes]) -> Target:
    """Where a member is and who we are there, from its Cluster and the content of its Secret."""
    name, spec = cluster.metadata.name, cluster.spec
    assert spec.secret_ref is not None
    where = f"{spec.secret_ref.namespace}/{spec.secret_ref.name}"
    if data.get("kubeconfig"):
        if data.get("token"):
            raise MemberUnavailable(f"the secret {where} has both data.kubeconfig and data.token: keep one of them")
        base = _from_kubeconfig(where, data["kubeconfig"])
    else:
        base = _from_token(name, where, data, spec.insecure_skip_tls_verification)
    if spec.sync_mode == "Pull":
        # An agent may not choose the address unless its token allows it, and it may write its Secret at any time.
        base = base._replace(server="", proxy="", proxy_headers=())
    server = spec.api_endpoint or base.server
    if not server:
        raise NoAddress(f"the api endpoint of cluster {name} is empty")
    return base._replace(
        server=server.rstrip("/"),
        insecure=base.insecure or spec.insecure_skip_tls_verification,
        proxy=spec.proxy_url or base.proxy,
        proxy_headers=proxy_headers(cluster) or base.proxy_headers,
    )


def proxy_headers(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    """Headers for the proxy in front of a member; a comma separates several values."""
    return tuple(
        (name, value.strip()) for name, joined in cluster.spec.proxy_header.items() for value in joined.split(",")
    )


class RotatingTransport:
    """A transport whose credentials are read again when they age or fail."""

    def __init__(self, access: SecretAccess, cluster: Cluster, agent: str, clock: Clock) -> None:
        self._access = access
        self._cluster = cluster
        self._agent = agent
        self._clock = clock
        self._target: Target | None = None
        self._inner: HttpTransport | None = None
        self._read_at = 0.0
        self._closed = False

    async def prepare(self) -> HttpTransport:
        """The transport with the credentials of now; raises `MemberUnavailable` when there are none."""
        if self._closed:
            raise Unavailable("the transport is closed")
        if self._inner is None or self._clock.monotonic() - self._read_at > REREAD_SECONDS:
            await self._read()
        assert self._inner is not None
        return self._inner

    async def send(self, request: Request) -> bytes:
        """Answer every verb but watch."""
        inner = await self._ready()
        try:
            return await inner.send(request)
        except (Unauthorized, Unavailable) as error:
            if not await self._renewed(inner) or not isinstance(error, Unauthorized):
                raise
        return await (await self._ready()).send(request)

    @contextlib.asynccontextmanager
    async def watch(self, request: Request) -> AsyncIterator[WatchStream]:
        """Open a watch."""
        inner = await self._ready()
        async with contextlib.AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(inner.watch(request))
            except (Unauthorized, Unavailable) as error:
                if not await self._renewed(inner) or not isinstance(error, Unauthorized):
                    raise
                stream = await stack.enter_async_context((await self._ready()).watch(request))
            yield stream

    async def raw(self, method: str, path: str, body: bytes | None = None, accept: str = "") -> bytes:
        """Request a path that is no resource."""
        inner = await self._ready()
        try:
            return await inner.raw(method, path, body, accept)
        except (Unauthorized, Unavailable) as error:
            if not await self._renewed(inner) or not isinstance(error, Unauthorized):
                raise
        return await (await self._ready()).raw(method, path, body, accept)

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._inner is not None:
            await self._inner.close()

    async def _ready(self) -> HttpTransport:
        try:
            return await self.prepare()
        except MemberUnavailable as error:
            raise Unavailable(str(error)) from error

    async def _renewed(self, used: HttpTransport) -> bool:
        """Whether there are other credentials than those that were used."""
        if self._inner is not used:
            return True
        if self._clock.monotonic() - self._read_at < REREAD_PAUSE:
            return False
        with contextlib.suppress(MemberUnavailable):
            await self._read()
        return self._inner is not used

    async def _read(self) -> None:
        self._read_at = self._clock.monotonic()
        try:
            target = await self._access.target(self._cluster)
        except MemberUnavailable:
            if self._inner is None:
                raise
            return
        if target == self._target and self._inner is not None:
            return
        try:
            made = HttpTransport(target, agent=self._agent)
        except ValueError as error:
            raise MemberUnavailable(f"cluster {self._cluster.metadata.name}: {error}") from error
        previous, self._inner, self._target = self._inner, made, target
        if previous is not None:
            await previous.close()


def _from_token(name: str, where: str, data: dict[str, bytes], insecure: bool) -> Target:
    if not data.get("token"):
        raise MemberUnavailable(f"the secret {where} of cluster {name} has no data.token (nor data.kubeconfig)")
    if not insecure and not data.get("caBundle"):
        raise MemberUnavailable(
            f"the secret {where} of cluster {name} has no data.caBundle, and insecureSkipTLSVerification is not set"
        )
    authority = NOTHING if insecure else Material(data["caBundle"])
    return Target("", authority, insecure, identity=Identity(token=Material(data["token"])))


def _from_kubeconfig(where: str, content: bytes) -> Target:
    try:
        return from_bytes(content).target()
    except (KubeconfigError, ValueError, KeyError, TypeError, AttributeError) as error:
        # Only the first line: what follows may quote the content.
        reason = str(error).partition("\n")[0]
        raise MemberUnavailable(f"data.kubeconfig of secret {where} cannot be used: {reason}") from None
