"""Register: make the cluster at hand a member that its own agent connects to the control plane (pull mode).

Run against the member, with nothing of the control plane but its address and a token. It obtains the agent's
certificate and installs the agent; the agent then writes the Cluster. Stricter than the reference: it fails when
preflight fails, asks for one certificate only (the agent's), and succeeds only once the control plane knows the
cluster.
"""

import asyncio
import contextlib
import secrets as randomness
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from karmada.api import names
from karmada.api.version import IMAGE
from karmada.machinery.client import Client
from karmada.machinery.clock import REAL, Clock
from karmada.machinery.errors import ApiError, Forbidden, NotFound
from karmada.machinery.http.target import Identity, Material, Target
from karmada.machinery.http.transport import HttpTransport
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.membership import objects, registration
from karmada.membership.agent_grant import FIRST_CERTIFICATE_SECONDS, REMEDY, SHORTEST_CERTIFICATE_SECONDS
from karmada.membership.certificate import REQUESTS, YEAR, Issued, agent_kubeconfig, obtain_certificate
from karmada.membership.cluster_info import discover
from karmada.membership.credentials import ensure
from karmada.membership.refusal import Refused, Unfinished
from karmada.membership.registration import check_name
from karmada.membership.reporting import parse_report_secrets
from karmada.membership.token import parse
from karmada.membership.unjoin import discard

AGENT, ACCOUNT, KUBECONFIG = "karmada-agent", "karmada-agent-sa", "karmada-kubeconfig"
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
PAUSE = 0.2
WITHDRAWAL_SECONDS = 10.0
LONGEST_COMMON_NAME = 64
Say = Callable[[str], None]
_DOUBT = "couldn't validate the identity of the API Server: "


@dataclass(frozen=True, slots=True)
class Registration:
    """What a person who registers a cluster says."""

    endpoint: str
    token: str = field(repr=False)
    cluster: str
    api_endpoint: str = ""
    pins: Sequence[str] = ()
    skip_verification: bool = False
    space: str = names.SYSTEM_NAMESPACE
    cluster_space: str = names.CLUSTER_NAMESPACE
    provider: str = ""
    region: str = ""
    zones: Sequence[str] = ()
    proxy: str = ""
    image: str = IMAGE
    replicas: int = 1
    rotation: bool = True
    tunnel: bool = False
    report_secrets: str = ""
    certificate_seconds: int = YEAR
    """How long its certificate may last; the first one lasts a day, unless it is never renewed."""
    discovery_seconds: float = 300.0
    wait: float = 120.0


def check(registration: Registration) -> None:
    """Refuse what cannot work, before anything is asked of anybody."""
    if not registration.token:
        raise Refused("token is required")
    if not registration.pins and not registration.skip_verification:
        raise Refused("need to verify CACertHashes, or set --discovery-token-unsafe-skip-ca-verification=true")
    check_name(registration.cluster)
    if len(names.agent_user(registration.cluster)) > LONGEST_COMMON_NAME:
        longest = LONGEST_COMMON_NAME - len(names.AGENT_USER_PREFIX)
        raise Refused(f"cluster name {registration.cluster} is too long for an agent's certificate: at most {longest}")
    parse_report_secrets(registration.report_secrets)
    if registration.certificate_seconds < SHORTEST_CERTIFICATE_SECONDS:
        raise Refused(f"no certificate can be asked for less than {SHORTEST_CERTIFICATE_SECONDS} s")


async def preflight(member: Client, registration: Registration, say: Say) -> None:
    """Refuse to overwrite an agent that is there."""
    say("[preflight] Running pre-flight checks")
    found = []
    for type_, name, kind in (
        (objects.SECRETS, KUBECONFIG, "Secret"),
        (objects.SERVICE_ACCOUNTS, ACCOUNT, "ServiceAccount"),
        (DEPLOYMENTS, AGENT, "Deployment"),
    ):
        try:
            await member.resource(type_).get(name, registration.space)
        except NotFound:
            continue
        found.append(f"\t[ERROR]: {registration.space}/{name} {kind} already exists")
    if found:
        lines = "\n".join(found)
        raise Refused(
            f"error execution phase preflight: [preflight] Some fatal errors occurred:\n{lines}\n\n"
            "[preflight] Please check the above errors"
        )
    say("[preflight] All pre-flight checks were passed")


async def register(member: Client, registering: Registration, say: Say, *, clock: Clock = REAL) -> None:
    """Register a cluster; every step is said. What was made is taken away again when it fails."""
    check(registering)
    await preflight(member, registering, say)
    say("[karmada-agent-start] Waiting to perform the TLS Bootstrap")
    target, issued, request = await _bootstrap(registering, clock, say)
    agent = Client(HttpTransport(_as_agent(target, issued.certificate, issued.key)))
    try:
        say("[karmada-agent-start] Waiting to check cluster exists")
        await _check_new(agent, registering.cluster)
        say("[karmada-agent-start] Assign the necessary RBAC permissions to the agent")
        say("[karmada-agent-start] Waiting to construct karmada-agent kubeconfig")
        config = agent_kubeconfig(registering.cluster, target.server, target.authority.data, issued)
        say("[karmada-agent-start] Waiting the necessary secret and RBAC")
        await _install_access(member, registering, config)
        say("[karmada-agent-start] Waiting karmada-agent Deployment")
        await ensure(member, DEPLOYMENTS, deployment(registering))
        cluster = await _wait(member, agent, registering, clock)
    except BaseException:
        await remove_agent(member, registering.space)
        await _withdraw(agent, request)
        raise
    finally:
        await agent.close()
    for ignored in registration.untaken(_described(registering), cluster["spec"]):
        say(f"[warning] spec.{ignored} was not taken: {REMEDY}; an administrator of the control plane can set it")
    say("")
    say(f"cluster({registering.cluster}) is joined successfully")


async def agent_access(registration: Registration, *, clock: Clock = REAL) -> bytes:
    """The kubeconfig of a cluster's agent, for those who run the agent by other means than a Deployment."""
    check(registration)
    target, issued, _ = await _bootstrap(registration, clock)
    return agent_kubeconfig(registration.cluster, target.server, target.authority.data, issued)


async def _bootstrap(registration: Registration, clock: Clock, say: Say = lambda _: None) -> tuple[Target, Issued, str]:
    """Where the control plane is, a certificate from it, and the request it was asked for with."""
    try:
        token = parse(registration.token)
    except Refused as error:
        raise Refused(f"{_DOUBT}{error}") from None
    pins = () if registration.skip_verification else registration.pins
    patience = registration.discovery_seconds
    target = await discover(registration.endpoint, token, pins, patience=patience, clock=clock, say=say)
    bootstrap = Client(HttpTransport(target._replace(identity=Identity(token=Material(str(token).encode())))))
    try:
        name = f"{registration.cluster}-{_suffix()}"
        seconds = registration.certificate_seconds
        if registration.rotation:
            seconds = min(seconds, FIRST_CERTIFICATE_SECONDS)
        issued = await obtain_certificate(bootstrap, registration.cluster, name, seconds=seconds, clock=clock)
    finally:
        await bootstrap.close()
    return target, issued, name


async def _withdraw(agent: Client, request: str) -> None:
    """Have the control plane take back the agent's roles; it does so by itself in time when the request is lost."""
    with contextlib.suppress(ApiError, TimeoutError):
        async with asyncio.timeout(WITHDRAWAL_SECONDS):
            await agent.resource(REQUESTS).delete(request)


async def remove_agent(member: Client, space: str, deployment: str = AGENT) -> None:
    """Take the agent and its access out of the member."""
    for type_, name, where in (
        (DEPLOYMENTS, deployment, space),
        (objects.SECRETS, KUBECONFIG, space),
        (objects.SERVICE_ACCOUNTS, ACCOUNT, space),
        (objects.CLUSTER_ROLE_BINDINGS, AGENT, ""),
        (objects.CLUSTER_ROLES, AGENT, ""),
    ):
        await discard(member, type_, name, where)


async def _check_new(agent: Client, cluster: str) -> None:
    try:
        await agent.resource(objects.CLUSTERS).get(cluster)
    except NotFound:
        return
    except Forbidden as error:
        raise Refused(f"the control plane gave the agent of {cluster} no rights: {error}") from error
    raise Refused(f"cluster {cluster} is a member already: unregister it before it is registered again")


async def _install_access(member: Client, registration: Registration, config: bytes) -> None:
    await ensure(member, objects.NAMESPACES, objects.namespace(registration.space))
    secret = objects.secret(KUBECONFIG, registration.space, {KUBECONFIG: config})
    await member.resource(objects.SECRETS).create(secret)
    await ensure(member, objects.SERVICE_ACCOUNTS, objects.service_account(ACCOUNT, registration.space))
    await ensure(member, objects.CLUSTER_ROLES, objects.cluster_role(AGENT, objects.EVERYTHING))
    subject = objects.account_subject(ACCOUNT, registration.space)
    await ensure(member, objects.CLUSTER_ROLE_BINDINGS, objects.cluster_role_binding(AGENT, subject))


async def _wait(member: Client, agent: Client, registration: Registration, clock: Clock) -> JSONObject:
    """Wait until the agent runs and the control plane knows the cluster: its Cluster."""
    until = clock.monotonic() + registration.wait
    running = False
    while True:
        try:
            if not running:
                found = await member.resource(DEPLOYMENTS).get(AGENT, registration.space)
                running = ((found.get("status") or {}).get("readyReplicas") or 0) >= 1
            if running:
                return await agent.resource(objects.CLUSTERS).get(registration.cluster)
        except ApiError:
            pass
        if clock.monotonic() > until:
            what = "its cluster did not appear in the control plane" if running else "its pod did not become ready"
            raise Unfinished(
                f"karmada-agent was installed, but {what} within {registration.wait:g} s; it was removed again"
            )
        await clock.sleep(PAUSE)


def deployment(registration: Registration) -> JSONObject:
    """The agent's Deployment in the member."""
    command = [
        "/bin/karmada-agent",
        "--karmada-kubeconfig=/etc/kubeconfig/karmada-kubeconfig",
        f"--cluster-name={registration.cluster}",
        f"--cluster-api-endpoint={registration.api_endpoint}",
        f"--cluster-provider={registration.provider}",
        f"--cluster-region={registration.region}",
        f"--cluster-zones={','.join(registration.zones)}",
        f"--controllers={'*' if registration.rotation else '*,-certRotation'}",
        f"--proxy-server-address={registration.proxy}",
        f"--leader-elect-resource-namespace={registration.space}",
        f"--cluster-namespace={registration.cluster_space}",
        "--cluster-status-update-frequency=10s",
        "--metrics-bind-address=:8080",
        "--health-probe-bind-address=0.0.0.0:10357",
        "--v=2",
    ]
    command += ["--enable-tunnel"] if registration.tunnel else []
    command += [f"--report-secrets={registration.report_secrets}"] if registration.report_secrets else []
    labels = {"app": AGENT}
    container = {
        "name": AGENT,
        "image": registration.image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "ports": [{"containerPort": 8080, "name": "metrics", "protocol": "TCP"}],
        "volumeMounts": [{"mountPath": "/etc/kubeconfig", "name": "kubeconfig"}],
    }
    pod = {
        "serviceAccountName": ACCOUNT,
        "containers": [container],
        "tolerations": [{"key": "node-role.kubernetes.io/master", "operator": "Exists"}],
        "volumes": [{"name": "kubeconfig", "secret": {"secretName": KUBECONFIG}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": AGENT, "namespace": registration.space, "labels": labels},
        "spec": {
            "replicas": registration.replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"name": AGENT, "namespace": registration.space, "labels": labels}, "spec": pod},
        },
    }


def _described(registration: Registration) -> JSONObject:
    """What the person who registers says about the cluster, as its Cluster would say it."""
    return {
        "apiEndpoint": registration.api_endpoint,
        "provider": registration.provider,
        "proxyURL": registration.proxy,
        "region": registration.region,
        "zones": list(registration.zones),
    }


def _as_agent(target: Target, certificate: bytes, key: bytes) -> Target:
    return target._replace(identity=Identity(Material(certificate), Material(key)))


def _suffix() -> str:
    return "".join(randomness.choice(string.ascii_lowercase + string.digits) for _ in range(5))
