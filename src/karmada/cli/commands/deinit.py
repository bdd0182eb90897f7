"""`karmadactl deinit`."""

from karmada.cli.command import Command
from karmada.cli.commands.init import HOST_FLAGS
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.session import Session
from karmada.machinery.resource import Scope

MANAGED = "app.kubernetes.io/managed-by=karmadactl"
_KINDS = (
    ("apps", "v1", "deployments"),
    ("apps", "v1", "statefulsets"),
    ("policy", "v1", "poddisruptionbudgets"),
    ("networking.k8s.io", "v1", "networkpolicies"),
    ("", "v1", "services"),
    ("", "v1", "secrets"),
)


async def run(session: Session, flags: Values) -> int:
    """Remove what `init` and `addons` made."""
    from karmada.cli.installing import remove

    host = session.outside("host", flags.kubeconfig, flags.context)
    items = []
    for group, version, plural in _KINDS:
        items += (await host.resource(group, version, plural).list(Scope(flags.namespace, MANAGED))).items
    if not items:
        raise CommandError(f"there is no control plane in namespace {flags.namespace}")
    if not (flags.force or flags.dry_run):
        session.out.write("Please type (y)es or (n)o and then press enter: ")
        session.out.flush()
        if session.stdin.readline().strip().lower() not in ("y", "yes"):
            session.print("nothing was removed")
            return 1
    if flags.purge_namespace:
        items.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": flags.namespace}})
    left = await remove(session, host, items, dry_run=flags.dry_run)
    for line in left:
        session.warn(f"left behind: {line}")
    if not flags.dry_run and not left:
        session.print("remove karmada successfully")
    return 1 if left else 0


COMMAND = Command(
    "deinit",
    "",
    "Remove a control plane from a host cluster. Its state on nodes stays.",
    run,
    (
        *HOST_FLAGS,
        Flag("dry-run", False, "Only show what would be removed."),
        Flag("force", False, "Do not ask.", "f"),
        Flag("purge-namespace", False, "Remove the namespace too."),
    ),
    examples="karmadactl deinit --dry-run",
)
