"""`karmadactl rollout`: how far the change of a workload has come, in every cluster."""

import asyncio
from typing import Any

from karmada.api.counting import counted
from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.commands.why import one_wanted
from karmada.cli.failures import CommandError, SeveralErrors
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import Wanted
from karmada.cli.output.controls import one_line
from karmada.cli.output.tabs import aligned
from karmada.cli.progress import PAUSE, Waiting
from karmada.cli.reading import in_time, namespace_of
from karmada.cli.session import Session
from karmada.cli.writing import dry_run
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.resource import Scope

JSONObject = dict[str, Any]


async def status(session: Session, flags: Values) -> int:
    """Wait until every cluster runs what the template says."""
    wanted = await one_wanted(session, flags)
    namespace = namespace_of(session.hub(flags), flags, wanted.kind)
    last = ""
    try:
        async with asyncio.timeout(flags.timeout or None):
            with Waiting(session, f"waiting for {wanted.kind.kind} {wanted.name}") as waiting:
                while True:
                    rows, done = await _progress(session, flags, wanted, namespace)
                    text = "; ".join(f"{row[0]}: {row[-1]}" for row in rows)
                    waiting.say(text)
                    if text != last and not session.out.isatty():
                        session.print(text)
                        last = text
                    if done or not flags.watch:
                        break
                    await asyncio.sleep(PAUSE)
    except TimeoutError:
        raise CommandError(
            f"timed out waiting for the rollout of {wanted.name}: {last or 'nothing was seen'}"
        ) from None
    session.out.write(aligned([["CLUSTER", "REPLICAS", "UPDATED", "READY", "AVAILABLE", "STATUS"], *rows]))
    if done:
        where = counted(len(rows), "cluster")
        session.print(f'{wanted.kind.kind.lower()} "{wanted.name}" successfully rolled out in {where}')
    return 0 if done else 1


async def _progress(session: Session, flags: Values, wanted: Wanted, namespace: str) -> tuple[list[list[str]], bool]:
    template, targets = await _targets(session.hub(flags), wanted, namespace)
    rows = await asyncio.gather(
        *(_row(session.member(flags, name), wanted, namespace, template, share) for name, share in targets)
    )
    return [row for row, _ in rows], all(done for _, done in rows)


async def _targets(hub: Access, wanted: Wanted, namespace: str) -> tuple[JSONObject, list[tuple[str, int]]]:
    """The template and the clusters it goes to."""
    from karmada.api import names

    template = await hub.client.resource(wanted.kind.type).get(wanted.name, namespace)
    plural = "resourcebindings" if namespace else "clusterresourcebindings"
    try:
        binding = await hub.resource("work.karmada.io", "v1alpha2", plural).get(
            names.binding_name(wanted.kind.kind, wanted.name), namespace
        )
    except NotFound:
        raise CommandError(f"{wanted.name} is not propagated: ask {_ask(wanted)}") from None
    chosen = (binding.get("spec") or {}).get("clusters") or ()
    if not chosen:
        raise CommandError(f"{wanted.name} goes to no cluster: ask {_ask(wanted)}")
    return template, sorted((target["name"], target.get("replicas", 0)) for target in chosen)


def _ask(wanted: Wanted) -> str:
    return f"karmadactl why {wanted.kind.kind.lower()}/{wanted.name}"


async def _row(
    access: Access, wanted: Wanted, namespace: str, template: JSONObject, share: int
) -> tuple[list[str], bool]:
    from karmada.api.annotations import TEMPLATE_GENERATION

    try:
        copy = await in_time(access, access.client.resource(wanted.kind.type).get(wanted.name, namespace))
    except NotFound:
        return [access.name, "-", "-", "-", "-", "not there yet"], False
    except (ApiError, CommandError) as error:
        return [access.name, "-", "-", "-", "-", one_line(str(error))], False
    about, spec, found = copy["metadata"], copy.get("spec") or {}, copy.get("status") or {}
    replicas = spec.get("replicas", share)
    counts = [found.get(name, 0) for name in ("updatedReplicas", "readyReplicas", "availableReplicas")]
    seen = int((about.get("annotations") or {}).get(TEMPLATE_GENERATION) or 0)
    if seen < int(template["metadata"].get("generation") or 0):
        state = "the change has not arrived yet"
    elif found.get("observedGeneration", 0) < about.get("generation", 0):
        state = "the change has not been seen yet"
    elif counts[0] < replicas:
        state = f"{counts[0]} of {replicas} new replicas have been updated"
    elif found.get("replicas", 0) > counts[0]:
        state = f"{found.get('replicas', 0) - counts[0]} old replicas are pending termination"
    elif counts[2] < counts[0]:
        state = f"{counts[2]} of {counts[0]} updated replicas are available"
    else:
        state = "done"
    return [access.name, str(replicas), *map(str, counts), state], state == "done"


async def history(session: Session, flags: Values) -> None:
    """Show the revisions every cluster has kept."""
    wanted = await one_wanted(session, flags)
    if wanted.kind.kind != "Deployment":
        raise CommandError(f"no history viewer has been implemented for {wanted.kind.kind}: only Deployments have one")
    namespace = namespace_of(session.hub(flags), flags, wanted.kind)
    from karmada.cli.rollout_undo import owner_of, revision_of

    _, targets = await _targets(session.hub(flags), wanted, namespace)
    rows = [["CLUSTER", "REVISION", "REPLICAS", "IMAGES", "CHANGE-CAUSE"]]
    members = [session.member(flags, name) for name, _ in targets]
    answers = await asyncio.gather(
        *(in_time(one, one.resource("apps", "v1", "replicasets").list(Scope(namespace))) for one in members),
        return_exceptions=True,
    )
    failures: list[str] = []
    for (name, _), answer in zip(targets, answers, strict=True):
        if isinstance(answer, ApiError | CommandError):
            failures.append(f"cluster({name}): {answer}")
            continue
        if isinstance(answer, BaseException):
            raise answer
        found = answer.items
        owned = [item for item in found if owner_of(item) == wanted.name]
        for item in sorted(owned, key=revision_of):
            spec = item.get("spec") or {}
            images = [
                one.get("image", "") for one in ((spec.get("template") or {}).get("spec") or {}).get("containers") or ()
            ]
            cause = (item["metadata"].get("annotations") or {}).get("kubernetes.io/change-cause", "<none>")
            rows.append([name, str(revision_of(item)), str(spec.get("replicas", 0)), ",".join(images), cause])
    session.out.write(aligned(rows))
    if failures:
        raise SeveralErrors(failures)


async def undo(session: Session, flags: Values) -> None:
    """Go back to an earlier revision."""
    from karmada.cli.rollout_undo import earlier
    from karmada.machinery.transport import PatchType

    wanted = await one_wanted(session, flags)
    if wanted.kind.kind != "Deployment":
        raise CommandError(f"no rollbacker has been implemented for {wanted.kind.kind}: only Deployments have one")
    hub = session.hub(flags)
    namespace = namespace_of(hub, flags, wanted.kind)
    template, targets = await _targets(hub, wanted, namespace)
    unknown = [name for name in flags.clusters if name not in dict(targets)]
    if unknown:
        raise CommandError(f"{wanted.name} does not go to {unknown[0]}, but to {', '.join(dict(targets))}")
    members = [session.member(flags, name) for name, _ in targets if not flags.clusters or name in flags.clusters]
    found = await earlier(hub, members, wanted, namespace, flags.to_revision)
    what = f"deployment.apps/{wanted.name}"
    if found.template == template["spec"]["template"]:
        session.print(f"{what} skipped rollback (current template already matches revision {found.revision})")
        return
    dry = dry_run(flags)
    if not dry.client:
        patch = [{"op": "replace", "path": "/spec/template", "value": found.template}]
        resource = hub.client.resource(wanted.kind.type)
        await resource.patch(wanted.name, patch, namespace, kind=PatchType.JSON, dry_run=dry.server)
    session.print(f"{what} rolled back to revision {found.revision} of {found.cluster}{dry.suffix}")


_SHARED = (*common.CONNECTION, common.NAMESPACE)

COMMAND = Command(
    "rollout",
    "",
    "Follow the rollout of a workload in all clusters it goes to.",
    subcommands=(
        Command(
            "rollout status",
            "KIND/NAME",
            "Wait until every cluster runs what the template says.",
            status,
            (
                *_SHARED,
                Flag("watch", True, "Wait until it is done.", "w"),
                common.waiting("timeout", 0.0, "How long to wait; 0 waits as long as it takes."),
            ),
            examples="karmadactl rollout status deployment/nginx",
        ),
        Command(
            "rollout history",
            "KIND/NAME",
            "Show the revisions every cluster has kept.",
            history,
            _SHARED,
            examples="karmadactl rollout history deployment/nginx",
        ),
        Command(
            "rollout undo",
            "KIND/NAME",
            "Give a Deployment the pods of an earlier revision, in all clusters it goes to.",
            undo,
            (
                *_SHARED,
                common.DRY_RUN,
                Flag("to-revision", 0, "The revision to go back to; 0 is the one before the current."),
                Flag("clusters", [], "Clusters whose revisions count; all if none is named.", "C"),
            ),
            examples="""
karmadactl rollout undo deployment/nginx
karmadactl rollout undo deployment/nginx --to-revision 3 -C member1
""",
        ),
    ),
)
