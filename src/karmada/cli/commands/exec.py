"""`karmadactl exec`."""

from urllib.parse import urlencode

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.pods import chosen_container, find_pod
from karmada.cli.reading import one_member
from karmada.cli.session import Session

STREAM_FLAGS = (
    *common.CONNECTION,
    common.NAMESPACE,
    common.operation_scope("karmada", "members"),
    common.cluster_flag("C"),
    Flag("container", "", "The container.", "c"),
    common.waiting("pod-running-timeout", 60.0, "How long to wait for a pod that runs."),
    Flag("quiet", False, "Say nothing but what the process says.", "q"),
    Flag("stdin", False, "Pass standard input on.", "i"),
    Flag("tty", False, "Standard input is a terminal.", "t"),
)


async def run(session: Session, flags: Values) -> int:
    """Run a command in a container."""
    words = flags.after_dashes or flags.arguments[1:]
    if not flags.arguments:
        raise CommandError("pod or type/name must be specified")
    if not words:
        raise CommandError("you must specify at least one command for the container")
    query = [("command", word) for word in words]
    return await stream(session, flags, "exec", query)


async def stream(session: Session, flags: Values, subresource: str, query: list[tuple[str, str]]) -> int:
    """Connect to a container until it ends; the exit status. Members have the containers, unless the scope is said."""
    from karmada.cli.terminal import run as carry

    local = flags.operation_scope == "karmada" and not flags.cluster and "operation-scope" in flags.given
    access = session.hub(flags) if local else await one_member(session, flags)
    namespace = flags.namespace or access.target.namespace
    pod = await find_pod(access, namespace, flags.arguments[0], flags.pod_running_timeout)
    phase = (pod.get("status") or {}).get("phase")
    name = pod["metadata"]["name"]
    if phase in ("Succeeded", "Failed"):
        raise CommandError(f"cannot {subresource} a container in a completed pod; current phase is {phase}")
    query += [("container", chosen_container(pod, flags.container)), ("stdout", "true")]
    query += [("stdin", "true")] if flags.stdin else []
    query += [("tty", "true")] if flags.tty else [("stderr", "true")]
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/{subresource}?{urlencode(query)}"
    return await carry(session, access.target, path, stdin=flags.stdin, tty=flags.tty)


COMMAND = Command(
    "exec",
    "(POD | TYPE/NAME) [-c CONTAINER] (-C CLUSTER) -- COMMAND [args...]",
    "Run a command in a container of a member, and end with its exit status.",
    run,
    (*STREAM_FLAGS, Flag("filename", [], "Files that name the pod.", "f")),
    examples="""
karmadactl exec nginx-abc -C member1 -- date
karmadactl exec -it deployment/nginx -C member1 -- sh
""",
)
