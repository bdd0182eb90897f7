"""`karmadactl register`: run against the cluster that is to become a member."""

from karmada.api.version import IMAGE, IMAGE_VARIABLE
from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.commands.join import DESCRIPTION_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session


async def run(session: Session, flags: Values) -> None:
    """Register the cluster of the kubeconfig."""
    target = session.target(flags.kubeconfig, flags.context)
    if len(flags.arguments) != 1:
        raise CommandError(f"accepts 1 arg(s), received {len(flags.arguments)}")
    from karmada.cli.installing import warn_of_simulation
    from karmada.membership.register import Registration, check, preflight, register

    member = session.outside("member", flags.kubeconfig, flags.context)
    registration = Registration(
        flags.arguments[0],
        flags.token,
        flags.cluster_name or _context(session, flags),
        api_endpoint=target.server,
        pins=flags.discovery_token_ca_cert_hash,
        skip_verification=flags.discovery_token_unsafe_skip_ca_verification,
        space=flags.namespace,
        cluster_space=flags.cluster_namespace,
        provider=flags.cluster_provider,
        region=flags.cluster_region,
        zones=flags.cluster_zones,
        proxy=flags.proxy_server_address,
        image=_image(flags),
        replicas=flags.karmada_agent_replicas,
        rotation=flags.enable_cert_rotation,
        certificate_seconds=flags.cert_expiration_seconds,
        discovery_seconds=flags.discovery_timeout,
        tunnel=flags.enable_tunnel,
        report_secrets=flags.report_secrets,
        wait=flags.wait,
    )
    check(registration)
    await warn_of_simulation(session, member, flags.namespace)
    if flags.dry_run:
        await preflight(member.client, registration, session.print)
        return
    await register(member.client, registration, session.print)


def _context(session: Session, flags: Values) -> str:
    """Clusters are called like the context that leads to them."""
    from karmada.machinery.http.kubeconfig import default_paths, load

    return str(flags.context or load(default_paths(flags.kubeconfig, session.environment)).current_context)


def _image(flags: Values) -> str:
    """The image given, else that of the environment, else the distribution's own."""
    if "karmada-agent-image" in flags.given:
        return str(flags.karmada_agent_image)
    return flags.environment.get(IMAGE_VARIABLE) or IMAGE


COMMAND = Command(
    "register",
    "[karmada-apiserver-endpoint]",
    "Make a cluster a member that connects by itself (Pull mode).\n\n"
    "Run it against the cluster, with a token of the control plane (karmadactl token create\n"
    "--print-register-command prints the whole line). An agent is installed that connects to the control plane.",
    run,
    (
        Flag("kubeconfig", "", "Path of the kubeconfig of the cluster."),
        Flag("context", "", "Context of the cluster in the kubeconfig."),
        Flag("namespace", "karmada-system", "Namespace of the agent.", "n"),
        Flag("cluster-name", "", "Name of the cluster; that of the context if left out."),
        Flag("cluster-namespace", "karmada-cluster", "Namespace of Karmada's own objects about the cluster."),
        *DESCRIPTION_FLAGS,
        Flag(
            "cert-expiration-seconds",
            31536000,
            "How long its certificate is good; the first, renewed, at most a day.",
        ),
        common.waiting("discovery-timeout", 300.0, "How long to try to reach the control plane."),
        Flag("discovery-token-ca-cert-hash", [], "Hashes of the control plane's authorities; only these are trusted."),
        Flag("discovery-token-unsafe-skip-ca-verification", False, "Trust the control plane without its hash."),
        common.SWITCH_DRY_RUN,
        Flag("enable-cert-rotation", True, "Let the agent renew its certificate."),
        Flag("enable-tunnel", False, "Let the control plane reach the cluster through a connection the agent opens."),
        Flag("karmada-agent-image", IMAGE, f"Image of the agent; that of {IMAGE_VARIABLE} if that is set."),
        common.replicas("karmada-agent", "How many agents."),
        Flag("proxy-server-address", "", "Proxy by which the control plane reaches the cluster."),
        Flag("report-secrets", "", "What the control plane is given: KubeCredentials,KubeImpersonator or None."),
        Flag("token", "", "Token of the control plane."),
        common.waiting("wait", 120.0, "How long to wait for the agent and for the control plane to know the cluster."),
    ),
    examples="karmadactl register 10.0.0.1:5443 --token abcdef.0123456789abcdef "
    "--discovery-token-ca-cert-hash sha256:…",
)
