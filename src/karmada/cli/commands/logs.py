"""`karmadactl logs`: of one member, or of all with every line naming its cluster."""

import asyncio
from typing import NamedTuple
from urllib.parse import urlencode

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.failures import CommandError, SeveralErrors
from karmada.cli.flags import Flag, Values
from karmada.cli.pods import chosen_container, containers, find_pod, pods_of, selected
from karmada.cli.reading import chosen_clusters, in_time, one_member
from karmada.cli.session import Session
from karmada.machinery.errors import ApiError


class Source(NamedTuple):
    """One container's log."""

    access: Access
    namespace: str
    pod: str
    container: str
    prefix: str


async def run(session: Session, flags: Values) -> None:
    """Print logs; with -f as they come."""
    if flags.cluster and flags.all_clusters:
        raise CommandError("--cluster and --all-clusters exclude each other")
    if not flags.selector and not flags.arguments:
        raise CommandError("POD or TYPE/NAME is a required argument for the logs command")
    failures: list[str] = []
    if flags.all_clusters:
        names = await chosen_clusters(session.hub(flags), [])
        members = [session.member(flags, name) for name in names]
        results = await asyncio.gather(
            *(_sources(flags, member, clusters=True) for member in members), return_exceptions=True
        )
        sources: list[Source] = []
        for member, result in zip(members, results, strict=True):
            if isinstance(result, BaseException):
                if not isinstance(result, ApiError | CommandError):
                    raise result
                failures.append(f"cluster({member.name}): {result}")
            else:
                sources += result
        failures = [] if sources and not flags.selector else failures
        if not sources and not failures:
            raise CommandError(f"No resources found in {flags.namespace or 'default'} namespace of any cluster")
    else:
        member = await one_member(session, flags)
        sources = await _sources(flags, member, clusters=False)
    if flags.follow and len(sources) > flags.max_log_requests:
        raise CommandError(
            f"you are attempting to follow {len(sources)} log streams, but maximum allowed concurrency is "
            f"{flags.max_log_requests}, use --max-log-requests to increase the limit"
        )
    if flags.follow:
        failures += [text for text in await asyncio.gather(*(_print(session, flags, one) for one in sources)) if text]
    else:
        failures += [text for source in sources if (text := await _print(session, flags, source))]
    if failures:
        raise SeveralErrors(failures)


async def _sources(flags: Values, access: Access, *, clusters: bool) -> list[Source]:
    namespace = flags.namespace or access.target.namespace
    if flags.selector:
        pods = await in_time(access, selected(access, namespace, flags.selector))
    elif flags.all_pods or (clusters and "/" in flags.arguments[0]):
        pods = await in_time(access, pods_of(access, namespace, flags.arguments[0]))
    else:
        pods = [await find_pod(access, namespace, flags.arguments[0], flags.pod_running_timeout)]
    wanted = flags.container or (flags.arguments[1] if len(flags.arguments) > 1 else "")
    several = len(pods) > 1 or flags.all_pods
    found: list[Source] = []
    for pod in pods:
        name = pod["metadata"]["name"]
        chosen = (
            containers(pod, everything=True)
            if flags.all_containers
            else [chosen_container(pod, wanted, "is not valid for")]
        )
        for container in chosen:
            prefix = ""
            if clusters:
                prefix = f"[{access.name}/{name}] " if len(chosen) == 1 else f"[{access.name}/{name}/{container}] "
            elif flags.prefix or flags.all_pods:
                prefix = f"[pod/{name}/{container}] "
            found.append(
                Source(access, namespace, name, container, prefix if several or clusters or flags.prefix else "")
            )
    return found


async def _print(session: Session, flags: Values, source: Source) -> str:
    """Print one log; why that failed, where it did and that matters."""
    path = f"/api/v1/namespaces/{source.namespace}/pods/{source.pod}/log?{urlencode(_query(flags, source))}"
    rest = b""
    try:
        async with source.access.transport.stream(path, source.access.patience) as parts:
            async for part in parts:
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    session.out.write(f"{source.prefix}{line.decode('utf-8', 'replace')}\n")
                session.out.flush()
    except ApiError as error:
        text = f"cluster({source.access.name}): {error}" if flags.all_clusters else str(error)
        if not flags.ignore_errors:
            return text
        session.warn(f"error: {text}")
    if rest:
        session.out.write(f"{source.prefix}{rest.decode('utf-8', 'replace')}\n")
    return ""


def _query(flags: Values, source: Source) -> dict[str, str]:
    tail = flags.tail
    if flags.selector and "tail" not in flags.given:
        tail = 10
    query = {
        "container": source.container,
        "follow": "true" if flags.follow else "",
        "previous": "true" if flags.previous else "",
        "timestamps": "true" if flags.timestamps else "",
        "tailLines": str(tail) if tail >= 0 else "",
        "limitBytes": str(flags.limit_bytes) if flags.limit_bytes else "",
        "sinceSeconds": str(max(1, int(flags.since))) if flags.since else "",
        "sinceTime": flags.since_time,
        "insecureSkipTLSVerifyBackend": "true" if flags.insecure_skip_tls_verify_backend else "",
    }
    return {key: value for key, value in query.items() if value}


COMMAND = Command(
    "logs",
    "[-f] [-p] (POD | TYPE/NAME) [-c CONTAINER] (-C CLUSTER)",
    "Print the logs of containers of a member, or with --all-clusters of all members: every line then begins with its\n"
    "cluster and pod.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.SELECTOR,
        common.cluster_flag("C"),
        Flag("all-clusters", False, "Look in all members; lines begin with cluster and pod."),
        Flag("all-containers", False, "All containers of the pods."),
        Flag("all-pods", False, "All pods of the workload."),
        Flag("container", "", "The container.", "c"),
        Flag("follow", False, "Go on as lines come.", "f"),
        Flag("ignore-errors", False, "Go on when a log cannot be read."),
        Flag("insecure-skip-tls-verify-backend", False, "Trust the kubelet without a check."),
        Flag("limit-bytes", 0, "At most so many bytes of each log."),
        Flag("max-log-requests", 5, "How many logs may be followed at once."),
        common.waiting("pod-running-timeout", 20.0, "How long to wait for a pod that runs."),
        Flag("prefix", False, "Begin lines with pod and container."),
        Flag("previous", False, "Of the container before it was restarted.", "p"),
        common.waiting("since", 0.0, "Only lines of this last span of time."),
        Flag("since-time", "", "Only lines after this moment (RFC 3339)."),
        Flag("tail", -1, "Only the last lines; all by default, ten with a selector."),
        Flag("timestamps", False, "Begin lines with their time."),
    ),
    examples="""
karmadactl logs nginx -C member1
karmadactl logs deployment/nginx -C member1 -f
karmadactl logs -l app=nginx --all-clusters
""",
)
