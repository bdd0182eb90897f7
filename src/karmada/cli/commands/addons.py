"""`karmadactl addons`: optional components of a control plane in a host cluster."""

from typing import Any

from karmada.cli.command import Command
from karmada.cli.commands.init import HOST_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]
ADDONS = ("karmada-descheduler", "karmada-metrics-adapter", "karmada-scheduler-estimator", "karmada-search")
NOT_BUILT = ("karmada-metrics-adapter", "karmada-search")
"""Karmada has them, this version does not: they can be removed, not installed."""
ESTIMATOR = "karmada-scheduler-estimator"
_PROBES = {"karmada-descheduler": ("/healthz", 10358, "HTTP"), ESTIMATOR: ("/healthz", 10351, "HTTP")}
_PORTS = {"karmada-metrics-adapter": 443, "karmada-search": 443, ESTIMATOR: 10352}


async def show(session: Session, flags: Values) -> None:
    """List addons and whether they are enabled."""
    host = session.outside("host", flags.kubeconfig, flags.context)
    rows = [["ADDON NAME", "STATUS"]]
    for name in ADDONS:
        deployed = _deployed(name, flags.cluster)
        try:
            await host.resource("apps", "v1", "deployments").get(deployed, flags.namespace)
            rows.append([name, "enabled"])
        except NotFound:
            rows.append([name, "disabled"])
    session.out.write(aligned(rows))


async def enable(session: Session, flags: Values) -> None:
    """Install addons, or show what would be installed where nothing could run."""
    from karmada.cli import installing

    host = session.outside("host", flags.kubeconfig, flags.context)
    chosen = _chosen(flags)
    if flags.arguments != ["all"] and (missing := [name for name in NOT_BUILT if name in chosen]):
        raise CommandError(f"{' and '.join(missing)} cannot be enabled: not built yet in this version")
    built = [name for name in chosen if name not in NOT_BUILT]
    items = [item for name in built for item in _manifests(session, flags, name)]
    if not await installing.can_run(host):
        installing.show_plan(session, items, "the host cluster has no nodes, so nothing could run")
        return
    await installing.apply(session, host, items)
    await installing.until_running(session, host, items, flags.pod_timeout)


async def disable(session: Session, flags: Values) -> int:
    """Remove addons."""
    from karmada.cli.installing import remove

    host = session.outside("host", flags.kubeconfig, flags.context)
    if not flags.force:
        session.out.write("Do you really want to disable the addons? Type (y)es or (n)o: ")
        session.out.flush()
        if session.stdin.readline().strip().lower() not in ("y", "yes"):
            return 1
    items = [item for name in _chosen(flags) for item in _names(flags, name)]
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


def _deployed(name: str, cluster: str) -> str:
    return f"{name}-{cluster}" if name == ESTIMATOR and cluster else name


def _manifests(session: Session, flags: Values, name: str) -> list[JSONObject]:
    from karmada.api.version import IMAGE, IMAGE_VARIABLE
    from karmada.install.manifests import Component, Installation, deployment, secret, service

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
        found.append(_only_for_askers(flags.namespace, deployed))
    component = Component(
        deployed, replicas, priority, arguments, _PORTS.get(name, 0), config=config, probe=_PROBES[name]
    )
    made = deployment(installation, component)
    made["spec"]["template"]["spec"]["containers"][0]["command"][0] = name
    if component.port:
        found.append(service(flags.namespace, deployed, component.port, component.port))
    return [*found, made]


def _only_for_askers(namespace: str, deployed: str) -> JSONObject:
    """Who may reach an estimator: those who ask it."""
    askers = {"key": "app", "operator": "In", "values": ["karmada-scheduler", "karmada-descheduler"]}
    ingress = {
        "from": [{"podSelector": {"matchExpressions": [askers]}}],
        "ports": [{"port": _PORTS[ESTIMATOR], "protocol": "TCP"}],
    }
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": deployed, "namespace": namespace},
        "spec": {"podSelector": {"matchLabels": {"app": deployed}}, "policyTypes": ["Ingress"], "ingress": [ingress]},
    }


def _names(flags: Values, name: str) -> list[JSONObject]:
    about = {"name": _deployed(name, flags.cluster), "namespace": flags.namespace}
    found = [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": about}]
    if name == ESTIMATOR:
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
            "addons disable", "NAME...", "Remove addons.", disable, (*_SHARED, Flag("force", False, "Do not ask.", "f"))
        ),
        Command(
            "addons enable",
            "NAME...",
            "Install addons.",
            enable,
            (
                *_SHARED,
                Flag("apiservice-timeout", 30, "Seconds to wait for an aggregated API."),
                Flag("descheduler-priority-class", _CRITICAL, "Priority class of the descheduler."),
                Flag("estimator-priority-class", _CRITICAL, "Priority class of the estimator."),
                Flag("host-cluster-domain", "cluster.local", "Domain of the host cluster."),
                Flag("karmada-descheduler-replicas", 1, "How many deschedulers."),
                Flag("karmada-estimator-replicas", 1, "How many estimators."),
                Flag("karmada-metrics-adapter-replicas", 1, "How many metrics adapters."),
                Flag("karmada-search-replicas", 1, "How many search servers."),
                Flag("member-context", "", "Context of the member in its kubeconfig."),
                Flag("member-kubeconfig", "", "Path of the kubeconfig of the member."),
                Flag("metrics-adapter-priority-class", _CRITICAL, "Priority class of the metrics adapter."),
                Flag("pod-timeout", 120, "Seconds to wait for pods."),
                Flag("private-image-registry", "", "Registry of all images."),
                Flag("search-priority-class", _CRITICAL, "Priority class of the search server."),
            ),
            examples="karmadactl addons enable karmada-descheduler",
        ),
        Command("addons list", "", "List addons and whether they are enabled.", show, _SHARED),
    ),
)
