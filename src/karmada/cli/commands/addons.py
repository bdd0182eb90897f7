"""`karmadactl addons`: optional components of a control plane in a host cluster."""

import asyncio
from functools import partial
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.commands.init import HOST_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]
METRICS_ADAPTER, SEARCH = "karmada-metrics-adapter", "karmada-search"
DASHBOARD, ESTIMATOR = "karmada-dashboard", "karmada-scheduler-estimator"
ADDONS = (DASHBOARD, "karmada-descheduler", METRICS_ADAPTER, ESTIMATOR, SEARCH)
_PROBES = {
    DASHBOARD: ("/readyz", 8443, "HTTPS"),
    "karmada-descheduler": ("/healthz", 10358, "HTTP"),
    ESTIMATOR: ("/healthz", 10351, "HTTP"),
    METRICS_ADAPTER: ("/readyz", 4443, "HTTPS"),
    SEARCH: ("/readyz", 4443, "HTTPS"),
}
_PORTS = {DASHBOARD: (443, 8443), METRICS_ADAPTER: (443, 4443), SEARCH: (443, 4443), ESTIMATOR: (10352, 10352)}
"""Of the Service and of the container."""
_CALLERS = {
    METRICS_ADAPTER: ("karmada-apiserver",),
    SEARCH: ("karmada-apiserver",),
    ESTIMATOR: ("karmada-scheduler", "karmada-descheduler"),
}
"""Who calls addons that not everybody may."""
_TLS = (
    "--tls-cert-file=/etc/karmada/pki/server/tls.crt",
    "--tls-private-key-file=/etc/karmada/pki/server/tls.key",
    "--bind-address=0.0.0.0",
)
_PAIR = (
    "--authentication-kubeconfig=/etc/karmada/config/karmada.config",
    "--authorization-kubeconfig=/etc/karmada/config/karmada.config",
    *_TLS,
    "--secure-port=4443",
)
_CALLED = {METRICS_ADAPTER: _PAIR, SEARCH: _PAIR}
"""Addons that the control plane calls, with their flags."""
_SERVING = (*_CALLED, DASHBOARD)
"""Addons with a serving certificate."""


async def show(session: Session, flags: Values) -> None:
    """List addons and whether they are enabled."""
    host = session.outside("host", flags.kubeconfig, flags.context)
    rows = [[name, "enabled" if await _is_enabled(host, flags, name) else "disabled"] for name in ADDONS]
    session.out.write(aligned([["ADDON NAME", "STATUS"], *rows]))


async def _is_enabled(host: Access, flags: Values, name: str) -> bool:
    try:
        workloads = host.resource("apps", "v1", f"{_kind(name).lower()}s")
        await workloads.get(_deployed(name, flags.cluster), flags.namespace)
    except NotFound:
        return False
    return True


async def enable(session: Session, flags: Values) -> None:
    """Install addons, or show what would be installed where nothing could run."""
    from karmada.cli import installing

    host = session.outside("host", flags.kubeconfig, flags.context)
    chosen = _chosen(flags)
    items = [item for name in chosen for item in _manifests(session, flags, name)]
    if not await installing.can_run(host):
        installing.show_plan(session, items, "the host cluster has no nodes, so nothing could run")
        return
    trusted = {name: await _authority(host, flags.namespace, name) for name in chosen if name in _SERVING}
    await installing.apply(session, host, items)
    await installing.until_running(session, host, items, flags.pod_timeout)
    for name, authority in trusted.items():
        if name in _CALLED:
            await _connect(session, flags, name, authority)
    if DASHBOARD in chosen:
        session.print(f"kubectl port-forward -n {flags.namespace} service/{DASHBOARD} 8443:443")
        session.print("leads to the dashboard: https://localhost:8443/dashboard")


async def _authority(host: Access, namespace: str, addon: str) -> bytes:
    """Whom others must trust to reach an addon."""
    from karmada.install.manifests import serving_secret
    from karmada.membership.objects import decoded

    name = serving_secret(addon)
    try:
        return decoded(await host.resource("", "v1", "secrets").get(name, namespace))["ca.crt"]
    except (NotFound, KeyError):
        raise CommandError(
            f"Secret {namespace}/{name} has no certificate to serve with: karmadactl init of this version makes it"
        ) from None


async def _connect(session: Session, flags: Values, name: str, authority: bytes) -> None:
    """Have the control plane answer for the groups of an addon, and wait until it reaches it."""
    from karmada.cli.progress import Waiting, until
    from karmada.install.control_plane import GROUPS, connect_addon, serves

    hub = session.outside("karmada", flags.karmada_kubeconfig, flags.karmada_context)
    groups = ", ".join(dict.fromkeys(group.name for group in GROUPS[name]))
    await connect_addon(hub.client, name, flags.namespace, authority)
    try:
        async with asyncio.timeout(flags.apiservice_timeout or None):
            with Waiting(session, f"waiting for {groups}"):
                await until(partial(serves, hub.client, name))
    except TimeoutError:
        raise CommandError(
            f"the control plane does not reach {name} for {groups}: see kubectl get apiservices of the control plane"
        ) from None
    session.print(f"the control plane serves {groups}")


async def disable(session: Session, flags: Values) -> int:
    """Remove addons."""
    from karmada.cli.installing import remove

    host = session.outside("host", flags.kubeconfig, flags.context)
    if not flags.force:
        session.out.write("Do you really want to disable the addons? Type (y)es or (n)o: ")
        session.out.flush()
        if session.stdin.readline().strip().lower() not in ("y", "yes"):
            return 1
    chosen = _chosen(flags)
    for name in chosen:
        if name in _CALLED and await _is_enabled(host, flags, name):
            # First the control plane: a group that nobody serves would spoil its discovery.
            from karmada.install.control_plane import disconnect_addon

            hub = session.outside("karmada", flags.karmada_kubeconfig, flags.karmada_context)
            await disconnect_addon(hub.client, name, flags.namespace)
    items = [item for name in chosen for item in _names(flags, name)]
    left = await remove(session, host, items, dry_run=False)
    for line in left:
        session.warn(f"left behind: {line}")
    return 1 if left else 0


def _chosen(flags: Values) -> list[str]:
    if not flags.arguments:
        raise CommandError(f"addon names must be not null: one of {', '.join(ADDONS)} or all")
    names = list(ADDONS) if flags.arguments == ["all"] else flags.arguments
    for name in names:
        if name not in ADDONS:
            raise CommandError(f"[{name}] addon not be found: one of {', '.join(ADDONS)} or all")
    if ESTIMATOR in names and not flags.cluster:
        raise CommandError(f"{ESTIMATOR} belongs to a member: add -C NAME")
    return names


def _kind(name: str) -> str:
    return "StatefulSet" if name == SEARCH else "Deployment"


def _deployed(name: str, cluster: str) -> str:
    return f"{name}-{cluster}" if name == ESTIMATOR and cluster else name


def _manifests(session: Session, flags: Values, name: str) -> list[JSONObject]:
    from karmada.api.version import IMAGE, IMAGE_VARIABLE
    from karmada.install.manifests import Component, Installation, deployment, reachable, secret, service
    from karmada.install.parts import KEEPING

    usual = flags.environment.get(IMAGE_VARIABLE) or IMAGE
    image = f"{flags.private_image_registry}/{usual}" if flags.private_image_registry else usual
    installation = Installation(flags.namespace, image)
    short = name.removeprefix("karmada-").removeprefix("scheduler-")
    replicas = getattr(flags, f"karmada_{short.replace('-', '_')}_replicas")
    priority = getattr(flags, f"{short.replace('-', '_')}_priority_class")
    deployed, found, arguments, config = _deployed(name, flags.cluster), [], [], ("", "")
    if name == ESTIMATOR:
        target = session.target(flags.member_kubeconfig, flags.member_context)
        from karmada.cli.files import read_text

        content = read_text(flags.member_kubeconfig).encode() if flags.member_kubeconfig else b""
        key = f"{flags.cluster}-kubeconfig"
        found.append(secret(flags.namespace, key, {key: content}))
        config = (key, key)  # It works in the member: what opens the control plane is none of its business.
        arguments = [f"--cluster-name={flags.cluster}", f"--master={target.server}", "--bind-address=0.0.0.0"]
    arguments += [*_CALLED.get(name, ()), *KEEPING.get(name, ())]
    if name == DASHBOARD:
        arguments += [*_TLS, "--port=8443", "--session-dir=/tmp/sessions", f"--hosts={name}.{flags.namespace}.svc"]
    port, inside = _PORTS.get(name, (0, 0))
    component = Component(
        deployed,
        replicas,
        priority,
        arguments,
        inside,
        name in _SERVING,
        _PROBES[name],
        stateful=name == SEARCH,
        config=config,
    )
    made = deployment(installation, component)
    made["spec"]["template"]["spec"]["containers"][0]["command"][0] = name
    if component.port:
        found.append(service(flags.namespace, deployed, port, inside))
    found.append(reachable(flags.namespace, deployed, inside, _peers(name)))
    return [*found, made]


def _peers(name: str) -> list[JSONObject] | None:
    """Who calls an addon, by the labels of `init` and by those of the chart and the operator; None: everybody may."""
    if name not in _CALLERS:
        return None
    labels = [(key, caller) for caller in _CALLERS[name] for key in ("app", "app.kubernetes.io/name")]
    return [{"podSelector": {"matchLabels": {key: caller}}} for key, caller in labels]


def _names(flags: Values, name: str) -> list[JSONObject]:
    about = {"name": _deployed(name, flags.cluster), "namespace": flags.namespace}
    found = [{"apiVersion": "apps/v1", "kind": _kind(name), "metadata": about}]
    found.append({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": about})
    if name in _PORTS:
        found.append({"apiVersion": "v1", "kind": "Service", "metadata": about})
    return found


_CRITICAL = "system-node-critical"
_SHARED = (
    *HOST_FLAGS,
    Flag("cluster", "", "The member an estimator is for.", "C"),
    Flag("karmada-context", "", "Context of the control plane in its kubeconfig."),
    Flag("karmada-kubeconfig", "/etc/karmada/karmada-apiserver.config", "Path of the kubeconfig of the control plane."),
)

COMMAND = Command(
    "addons",
    "",
    "List, enable and disable optional components of a control plane in a host cluster.",
    subcommands=(
        Command(
            "addons disable",
            "NAME...",
            "Remove addons.",
            disable,
            (*_SHARED, Flag("force", False, "Do not ask.", "f")),
            examples="karmadactl addons disable karmada-descheduler",
        ),
        Command(
            "addons enable",
            "NAME...",
            "Install addons.",
            enable,
            (
                *_SHARED,
                Flag("apiservice-timeout", 30, "Seconds to wait for an aggregated API."),
                Flag("dashboard-priority-class", _CRITICAL, "Priority class of the dashboard."),
                Flag("descheduler-priority-class", _CRITICAL, "Priority class of the descheduler."),
                Flag("estimator-priority-class", _CRITICAL, "Priority class of the estimator."),
                Flag(
                    "host-cluster-domain", "cluster.local", "Kept for scripts: certificates are those that init made."
                ),
                common.replicas("karmada-dashboard", "How many dashboards; a browser has to stay with one of them."),
                common.replicas("karmada-descheduler", "How many deschedulers."),
                common.replicas("karmada-estimator", "How many estimators."),
                common.replicas("karmada-metrics-adapter", "How many metrics adapters."),
                common.replicas("karmada-search", "How many search servers."),
                Flag("member-context", "", "Context of the member in its kubeconfig."),
                Flag("member-kubeconfig", "", "Path of the kubeconfig of the member."),
                Flag("metrics-adapter-priority-class", _CRITICAL, "Priority class of the metrics adapter."),
                Flag("pod-timeout", 120, "Seconds to wait for pods."),
                Flag("private-image-registry", "", "Registry of all images."),
                Flag("search-priority-class", _CRITICAL, "Priority class of the search server."),
            ),
            examples="karmadactl addons enable karmada-descheduler\nkarmadactl addons enable karmada-dashboard",
        ),
        Command(
            "addons list",
            "",
            "List addons and whether they are enabled.",
            show,
            _SHARED,
            examples="karmadactl addons list",
        ),
    ),
)
