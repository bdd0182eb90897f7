"""`karmadactl certs`: certificates of a control plane in a host cluster, until when they are good, and new ones."""

import datetime
from pathlib import Path
from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.commands.init import HOST_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.os_errors import spelled
from karmada.machinery.resource import Scope

JSONObject = dict[str, Any]
RESTARTED = "kubectl.kubernetes.io/restartedAt"
SERVER = "karmada-apiserver"


async def check(session: Session, flags: Values) -> int:
    """List certificates; the exit code says whether one ends soon."""
    from karmada.install.renewal import held

    host = session.outside("host", flags.kubeconfig, flags.context)
    now = datetime.datetime.now(datetime.UTC)
    rows, soon = [["SECRET", "KEY", "SUBJECT", "EXPIRES", "DAYS LEFT"]], 0
    for secret in await _secrets(host, flags):
        for one in held(secret):
            left = one.expires - now
            soon += left.total_seconds() < flags.within
            rows.append([one.secret, one.key, one.subject, f"{one.expires:%Y-%m-%d}", str(left.days)])
    if len(rows) == 1:
        raise CommandError(f"there are no certificates of Karmada in namespace {flags.namespace}")
    session.out.write(aligned(rows))
    if soon:
        session.warn(f"{soon} of them end within {flags.within / 86400:g} days: run karmadactl certs renew")
    return 1 if soon else 0


async def renew(session: Session, flags: Values) -> int:
    """Issue certificates anew, and restart what reads them at its start only."""
    from karmada.cli.installing import until_running
    from karmada.install.renewal import held, renewed

    authority = _authority(flags)
    host = session.outside("host", flags.kubeconfig, flags.context)
    secrets = host.resource("", "v1", "secrets")
    changed: set[str] = set()
    for secret in await _secrets(host, flags):
        name = secret["metadata"]["name"]
        data = renewed(secret, authority, int(flags.cert_validity_period))
        if data:
            await secrets.patch(name, {"data": data}, flags.namespace)
            changed.add(name)
            session.print(f"secret/{name} renewed")
        elif others := [one for one in held(secret) if one.certificate != authority.certificate]:
            session.print(f"secret/{name} left as it is: {others[0].subject} was issued by another authority")
    if not changed:
        raise CommandError(f"no certificate in namespace {flags.namespace} was issued by {flags.karmada_pki}/ca.crt")
    _renew_files(session, flags, authority)
    if not flags.restart:
        return 0
    for workload in await _mounting(host, flags.namespace, changed):
        about = workload["metadata"]
        kind = await host.kinds.of(workload["apiVersion"], workload["kind"])
        stamp = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        patch = {"spec": {"template": {"metadata": {"annotations": {RESTARTED: stamp}}}}}
        await host.client.resource(kind.type).patch(about["name"], patch, flags.namespace)
        session.print(f"{workload['kind'].lower()}/{about['name']} restarted")
        await until_running(session, host, [workload], flags.wait_component_ready_timeout)
    return 0


async def _secrets(host: Access, flags: Values) -> list[JSONObject]:
    found = (await host.resource("", "v1", "secrets").list(Scope(flags.namespace))).items
    there = {one["metadata"]["name"] for one in found}
    for name in flags.arguments:
        if name not in there:
            raise CommandError(f"there is no Secret {name} in namespace {flags.namespace}")
    return [one for one in found if not flags.arguments or one["metadata"]["name"] in flags.arguments]


async def _mounting(host: Access, namespace: str, secrets: set[str]) -> list[JSONObject]:
    """What mounts one of the Secrets, the API server first: the others are its clients."""
    found: list[JSONObject] = []
    for plural, kind in (("statefulsets", "StatefulSet"), ("deployments", "Deployment")):
        for item in (await host.resource("apps", "v1", plural).list(Scope(namespace))).items:
            volumes = item["spec"]["template"]["spec"].get("volumes") or ()
            if secrets & {(volume.get("secret") or {}).get("secretName") for volume in volumes}:
                found.append({**item, "apiVersion": "apps/v1", "kind": kind})
    return sorted(found, key=lambda item: item["metadata"]["name"] != SERVER)


def _authority(flags: Values) -> Any:
    from karmada.apiserver.auth.pki import Authority

    folder = Path(flags.karmada_pki)
    try:
        return Authority.load((folder / "ca.crt").read_bytes(), (folder / "ca.key").read_bytes())
    except (OSError, ValueError) as error:
        text = f"the authority in {folder} cannot be used: {spelled(error)}; name its folder with --karmada-pki"
        raise CommandError(text) from None


def _renew_files(session: Session, flags: Values, authority: Any) -> None:
    """The administrator's access on this machine, if it is here."""
    from karmada.apiserver.auth.pki import write_file
    from karmada.install.renewal import renewed_config

    path = Path(flags.karmada_data) / "karmada-apiserver.config"
    if path.exists() and (text := renewed_config(path.read_bytes(), authority, int(flags.cert_validity_period))):
        write_file(path, text, 0o600)
        session.print(f"{path} renewed")


COMMAND = Command(
    "certs",
    "",
    "Show and renew the certificates of a control plane in a host cluster.",
    subcommands=(
        Command(
            "certs check",
            "[SECRET...]",
            "List certificates and until when they are good; fails when one ends soon.",
            check,
            (*HOST_FLAGS, common.waiting("within", 2592000.0, "What is soon.")),
            examples="karmadactl certs check --kubeconfig host.config --within 336h",
        ),
        Command(
            "certs renew",
            "[SECRET...]",
            "Issue certificates anew from the same authority and restart what uses them, one after the other.",
            renew,
            (
                *HOST_FLAGS,
                common.lasting("cert-validity-period", 31536000.0, "How long the new ones are good."),
                Flag("karmada-data", "/etc/karmada", "Directory of the kubeconfig.", "d"),
                Flag("karmada-pki", "/etc/karmada/pki", "Directory with the authority: ca.crt and ca.key."),
                Flag("restart", True, "Restart what mounts renewed certificates."),
                Flag("wait-component-ready-timeout", 120, "Seconds to wait for each of them; 0 waits for ever."),
            ),
            examples="karmadactl certs renew --kubeconfig host.config",
        ),
    ),
)
