"""`karmadactl init`: a control plane in a host cluster."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.authority import authority_for, keep, trusted
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values, between, one_of
from karmada.cli.progress import Waiting, until
from karmada.cli.session import Session

HOST_FLAGS = (
    Flag("kubeconfig", "", "Path of the kubeconfig of the host cluster."),
    Flag("context", "", "Context of the host cluster in the kubeconfig."),
    Flag("namespace", "karmada-system", "Namespace of the control plane in the host cluster.", "n"),
)
_CRITICAL = "system-node-critical"
_PARTS = ("karmada-aggregated-apiserver", "karmada-controller-manager", "karmada-scheduler", "karmada-webhook")
PULL = one_of("", "Always", "IfNotPresent", "Never")
UNUSED = "Kept for scripts: the API server brings what this was for."


async def run(session: Session, flags: Values) -> None:
    """Install, or show what would be installed where nothing could run."""
    from karmada.cli import installing
    from karmada.install.certificates import ADMIN
    from karmada.install.manifests import components, foundation

    if flags.config:
        _take_config(flags)
    host = session.outside("host", flags.kubeconfig, flags.context)
    address = await _address(host, flags)
    pki = _pki(flags, await authority_for(host, flags), address)
    wanted = installation(flags, pki)
    server, called, others = foundation(wanted), components(wanted, called=True), components(wanted, called=False)
    items = [*server, *called, *others]
    if not await installing.can_run(host):
        installing.show_plan(session, items, "the host cluster has no nodes, so nothing could run")
        return
    await installing.warn_of_simulation(session, host, flags.namespace)
    seconds = flags.wait_component_ready_timeout
    if (aside := keep(host, flags, pki.authority)) is not None:
        session.warn(f"{flags.karmada_pki} had another authority, which may be in use: its key is {aside} now")
    await installing.apply(session, host, server)
    trusted(flags)
    await installing.until_running(session, host, items, seconds, server)
    config = _write(flags, pki, address)
    hub = session.outside("karmada", str(config), "")
    # Before the components start: without kinds and roles they could only fail and be restarted.
    await _fill(session, flags, hub, pki.authority.certificate_pem)
    await installing.apply(session, host, called)
    await installing.until_running(session, host, items, seconds, called)
    await _connect(session, flags, hub, pki.authority.certificate_pem)
    await installing.apply(session, host, others)
    await installing.until_running(session, host, items, seconds, others)
    session.print(f"\nKarmada is installed. Its kubeconfig: {config} (also in Secret {ADMIN}-config)")
    session.print(f"  karmadactl --kubeconfig {config} token create --print-register-command")


async def _fill(session: Session, flags: Values, hub: Access, authority: bytes) -> None:
    """Fill the new control plane, as soon as it can be reached from here."""
    from karmada.install.control_plane import install
    from karmada.machinery.errors import ApiError, Unavailable

    endpoint = hub.target.server
    waiting = f"waiting until {endpoint} answers"
    try:
        async with asyncio.timeout(flags.wait_component_ready_timeout or None):
            with Waiting(session, waiting):
                await until(partial(_answers, hub))
    except TimeoutError:
        raise CommandError(
            f"{endpoint} cannot be reached from here: open the port, or name another address with "
            "--karmada-apiserver-advertise-address, then run init again"
        ) from None
    try:
        await install(hub.client, endpoint, authority)
    except Unavailable as error:
        raise ApiError(f"{endpoint} went away while it was being filled: run init again ({error})") from error
    session.print("Karmada's kinds and roles are registered")


async def _connect(session: Session, flags: Values, hub: Access, authority: bytes) -> None:
    """Have the control plane call its components, and wait until it reaches the one that serves clusters."""
    from karmada.install.control_plane import CLUSTERS, connect, serves

    await connect(hub.client, flags.namespace, authority)
    try:
        async with asyncio.timeout(flags.wait_component_ready_timeout or None):
            with Waiting(session, f"waiting for apiservice/{CLUSTERS}"):
                await until(partial(serves, hub.client))
    except TimeoutError:
        raise CommandError(
            f"apiservice/{CLUSTERS} is not available: see kubectl describe apiservice {CLUSTERS} of the control plane"
        ) from None
    session.print("Karmada's webhooks and the group of clusters are registered")


async def _answers(hub: Any) -> bool:
    from karmada.machinery.errors import ApiError

    try:
        await hub.transport.raw("GET", "/readyz")
    except ApiError:
        return False
    return True


def installation(flags: Values, pki: Any) -> Any:
    """What the flags describe."""
    from karmada.api.version import IMAGE, IMAGE_VARIABLE
    from karmada.install.manifests import Installation
    from karmada.install.parts import PARTS, component

    usual = flags.environment.get(IMAGE_VARIABLE) or IMAGE
    image = usual if not flags.private_image_registry else f"{flags.private_image_registry}/{usual}"
    etcd = _etcd(flags)
    prefix = flags.external_etcd_key_prefix
    clusters = [*etcd, f"--etcd-prefix={prefix.rstrip('/')}/karmada"] if etcd else []

    def given(name: str, field: str) -> Any:
        return getattr(flags, f"{name.replace('-', '_')}_{field}")

    components = [
        component(
            name,
            given(name, "replicas"),
            given(name, "priority_class"),
            given(name, "extra_args"),
            clusters,
            certificate=bool(pki.etcd),
        )
        for name in PARTS
    ]
    arguments = [*flags.karmada_apiserver_extra_args, *etcd, *([f"--etcd-prefix={prefix}"] if etcd and prefix else ())]
    return Installation(
        flags.namespace,
        flags.karmada_apiserver_image or image,
        flags.image_pull_policy,
        flags.image_pull_secrets,
        flags.port,
        flags.etcd_storage_mode,
        flags.etcd_data,
        flags.etcd_pvc_size,
        flags.storage_classes_name,
        _labels(flags.etcd_node_selector_labels),
        arguments,
        flags.karmada_apiserver_priority_class,
        components,
        pki.secrets(flags.namespace),
        bool(pki.etcd),
    )


def _etcd(flags: Values) -> list[str]:
    """How to reach an etcd elsewhere, if there is one."""
    if not flags.external_etcd_servers:
        return []
    found = [f"--etcd-servers={flags.external_etcd_servers}"]
    if flags.external_etcd_ca_cert_path:
        files = {"ca": "ca.crt", "cert": "tls.crt", "key": "tls.key"}
        found += [f"--etcd-{name}file=/etc/karmada/pki/etcd-client/{file}" for name, file in files.items()]
    return found


def _labels(text: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in text.split(",") if word]
    if any(not equals for _, equals, _ in pairs):
        raise CommandError(f"--etcd-node-selector-labels {text}: write key=value,key=value")
    return {key: value for key, _, value in pairs}


def _pki(flags: Values, authority: Any, address: str) -> Any:
    """An authority and all that it certifies."""
    from karmada.api.name_rules import is_host
    from karmada.install.parts import SERVING
    from karmada.install.pki import Pki

    external = [word for text in (flags.cert_external_ip, flags.cert_external_dns) for word in text.split(",") if word]
    for name in (address, *external):
        if not is_host(name):
            raise CommandError(f"{name!r} is no name or address that a certificate can be for: write it without port")
    paths = [getattr(flags, f"external_etcd_{name}_path") for name in ("ca_cert", "client_cert", "client_key")]
    etcd = [Path(path).read_bytes() if path else b"" for path in paths] if any(paths) else []
    serving = list(SERVING)  # Addons as well: the key of the authority does not stay in the host.
    seconds = int(flags.cert_validity_period)
    return Pki(authority, flags.host_cluster_domain, [address, *external], serving, seconds, etcd)


async def _address(host: Any, flags: Values) -> str:
    """Where the control plane will be reached from outside: as asked, or at the first node."""
    if flags.karmada_apiserver_advertise_address:
        return str(flags.karmada_apiserver_advertise_address)
    for node in (await host.resource("", "v1", "nodes").list()).items:
        for entry in (node.get("status") or {}).get("addresses") or ():
            if entry.get("type") == "InternalIP":
                return str(entry["address"])
    return "127.0.0.1"


def _write(flags: Values, pki: Any, address: str) -> Path:
    """Keep the administrator's access on this machine."""
    from karmada.apiserver.auth.kubeconfig import kubeconfig, write_kubeconfig
    from karmada.apiserver.auth.pki import write_file

    folder = Path(flags.karmada_pki)
    admin, key = pki.authority.issue_client("system:admin", ("system:masters",), pki.seconds)
    authority = pki.authority.certificate_pem
    for name, data in (("karmada.crt", admin), ("karmada.key", key)):
        write_file(folder / name, data, 0o600)
    path = Path(flags.karmada_data) / "karmada-apiserver.config"
    path.parent.mkdir(parents=True, exist_ok=True)
    cluster, user = "karmada-apiserver", "karmada-admin"
    server = f"https://{address}:{flags.port}"
    config = kubeconfig(server, authority, cluster=cluster, user=user, certificate=admin, key=key)
    write_kubeconfig(path, config)
    return path


def _take_config(flags: Values) -> None:
    """A KarmadaInitConfig file in the place of flags; flags that are spelled out win."""
    from karmada.api import yaml
    from karmada.cli.files import read_text

    document = yaml.load(read_text(flags.config))
    if not isinstance(document, dict) or document.get("kind") != "KarmadaInitConfig":
        raise CommandError(f"{flags.config}: is no KarmadaInitConfig (config.karmada.io/v1alpha1)")
    spec = document.get("spec") or {}
    simple = {
        "wait_component_ready_timeout": spec.get("waitComponentReadyTimeout"),
        "karmada_data": spec.get("karmadaDataPath"),
        "karmada_pki": spec.get("karmadaPKIPath"),
        "namespace": (spec.get("hostCluster") or {}).get("namespace"),
        "kubeconfig": (spec.get("hostCluster") or {}).get("kubeconfig"),
        "context": (spec.get("hostCluster") or {}).get("context"),
        "host_cluster_domain": (spec.get("hostCluster") or {}).get("domain"),
        "private_image_registry": (spec.get("images") or {}).get("privateRegistry", {}).get("registry"),
        "image_pull_policy": (spec.get("images") or {}).get("imagePullPolicy"),
        "image_pull_secrets": (spec.get("images") or {}).get("imagePullSecrets"),
    }
    for name, value in simple.items():
        if value is not None and name.replace("_", "-") not in flags.given:
            setattr(flags, name, value)
    try:
        PULL(flags.image_pull_policy)
    except ValueError as error:
        raise CommandError(f"{flags.config}: spec.images.imagePullPolicy: {error}") from None


def _component_flags() -> tuple[Flag, ...]:
    names = [*_PARTS, "karmada-apiserver", "karmada-kube-controller-manager"]
    found: list[Flag] = []
    for name in names:
        found += [
            common.replicas(name, f"How many of {name}."),
            Flag(f"{name}-priority-class", _CRITICAL, f"Priority class of {name}."),
            Flag(f"{name}-extra-args", [], f"Further flags of {name}.", repeated=True),
        ]
        found += [Flag(f"{name}-image", "", f"Image of {name}; that of the distribution if left out.")]
    return tuple(found)


COMMAND = Command(
    "init",
    "",
    "Install a control plane into a host cluster.\n\n"
    "Objects are made in the host cluster, then every component is waited for. On a host without nodes nothing could\n"
    "run, so what would be done is shown instead. For a control plane without a host cluster see `karmada up`.",
    run,
    (
        *HOST_FLAGS,
        *_component_flags(),
        Flag("ca-cert-file", "", "Certificate of an authority to use."),
        Flag("ca-key-file", "", "Its key."),
        Flag("cert-external-dns", "", "Further names in the server's certificate."),
        Flag("cert-external-ip", "", "Further addresses in the server's certificate."),
        common.lasting("cert-validity-period", 31536000.0, "How long certificates are good."),
        Flag("config", "", "A KarmadaInitConfig file."),
        Flag("crds", "", UNUSED),
        Flag("etcd-data", "/var/lib/karmada-etcd", "Directory of the state on the node, for hostPath."),
        Flag("etcd-extra-args", [], UNUSED, repeated=True),
        Flag("etcd-image", "", UNUSED),
        Flag("etcd-init-image", "", UNUSED),
        Flag("etcd-node-selector-labels", "", "Labels of the node that keeps the state."),
        Flag("etcd-priority-class", _CRITICAL, UNUSED),
        Flag("etcd-pvc-size", "5Gi", "Size of the claim, for PVC."),
        Flag("etcd-replicas", 1, UNUSED),
        Flag(
            "etcd-storage-mode",
            "hostPath",
            "Where the state is kept: hostPath, emptyDir or PVC.",
            check=one_of("", "hostPath", "emptyDir", "PVC"),
        ),
        Flag("external-etcd-ca-cert-path", "", "Authority of an external etcd."),
        Flag("external-etcd-client-cert-path", "", "Certificate for an external etcd."),
        Flag("external-etcd-client-key-path", "", "Key for an external etcd."),
        Flag("external-etcd-key-prefix", "", "Prefix of keys in an external etcd."),
        Flag("external-etcd-servers", "", "Addresses of an external etcd."),
        Flag("host-cluster-domain", "cluster.local", "Domain of the host cluster."),
        Flag("image-pull-policy", "IfNotPresent", "When images are pulled.", check=PULL),
        Flag("image-pull-secrets", [], "Secrets with which images are pulled."),
        Flag("karmada-apiserver-advertise-address", "", "Address at which the control plane is reached."),
        Flag("karmada-data", "/etc/karmada", "Directory for the kubeconfig.", "d"),
        Flag("karmada-pki", "/etc/karmada/pki", "Directory for the certificates."),
        Flag("kube-image-mirror-country", "", UNUSED),
        Flag("kube-image-registry", "", UNUSED),
        Flag("kube-image-tag", "v1.36.2", UNUSED),
        Flag("port", 32443, "Node port of the control plane.", "p", check=between(1, 65535)),
        Flag("private-image-registry", "", "Registry of all images."),
        Flag("storage-classes-name", "", "Storage class, for PVC."),
        Flag("wait-component-ready-timeout", 120, "Seconds to wait for the components; 0 waits for ever."),
    ),
    examples="karmadactl init --kubeconfig=host.config",
)
