"""`karmadactl promote`: an object of a member becomes a template of the control plane.

It is written with the rights of whoever promotes, who trusts the member with the content of what was named and with
nothing else: which kind is meant the control plane says, and another object than the one asked for is refused.
"""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.access import Access
from karmada.cli.command import Command
from karmada.cli.commands.join import MEMBER_FLAGS, member_context
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import Wanted
from karmada.cli.output.objects import renderer
from karmada.cli.reading import check_known, cluster_names, in_time, namespace_of
from karmada.cli.session import Session
from karmada.machinery.discovery import ApiResource
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]


async def run(session: Session, flags: Values) -> None:
    """Promote one object, and what it needs if asked."""
    if not flags.cluster:
        raise CommandError("the cluster cannot be empty: add -C NAME")
    hub = session.hub(flags)
    check_known(flags.cluster, await cluster_names(hub))
    member = _member(session, flags)
    named = await hub.kinds.wanted(flags.arguments) if flags.arguments else []
    if len(named) != 1 or not named[0].name:
        raise CommandError("incorrect command format, please use correct command format: promote TYPE NAME -C CLUSTER")
    (wanted,) = named
    found = await in_time(member, _read(member, flags, wanted))
    if flags.dependencies:
        await _dependencies(session, flags, member, found)
    await _promote(session, flags, wanted.kind, found, flags.policy_name)


def _member(session: Session, flags: Values) -> Access:
    """The member: by its own kubeconfig where one is given, else through the control plane."""
    if not flags.cluster_kubeconfig:
        return session.member(flags, flags.cluster)
    return session.outside(flags.cluster, flags.cluster_kubeconfig, member_context(session, flags, flags.cluster))


async def _read(member: Access, flags: Values, wanted: Wanted) -> JSONObject:
    try:
        namespace = namespace_of(member, flags, wanted.kind)
        found = await member.client.resource(wanted.kind.type).get(wanted.name, namespace)
        return as_asked(found, wanted.kind, wanted.name, namespace, flags.cluster)
    except NotFound:
        what = f"the {flags.arguments[0]} or {wanted.name} don't exist in cluster({flags.cluster})"
        raise CommandError(f"failed to get resource in cluster({flags.cluster}). err: {what}") from None


def as_asked(found: JSONObject, kind: ApiResource, name: str, namespace: str, cluster: str) -> JSONObject:
    """What a member answered, if it is the object that it was asked for."""
    about = found.get("metadata") or {}
    answered = (found.get("apiVersion"), found.get("kind"), about.get("name"), about.get("namespace") or "")
    if answered != (kind.api_version, kind.kind, name, namespace):
        asked = f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"
        raise CommandError(f"cluster({cluster}) answered with another object than {asked}: nothing was taken over")
    return found


async def _promote(
    session: Session, flags: Values, kind: ApiResource, found: JSONObject, policy_name: str = ""
) -> None:
    from karmada.cli.applying import policy_for

    hub = session.hub(flags)
    template = as_template(found)
    about = template["metadata"]
    where = f"{about['namespace']}/{about['name']}" if about.get("namespace") else about["name"]
    policy = policy_for(template, [flags.cluster], conflictResolution="Overwrite", preserveResourcesOnDeletion=True)
    policy["metadata"]["name"] = policy_name or policy["metadata"]["name"]
    render = renderer(flags)
    if render is not None:
        session.out.write(render([template], False))
        if flags.auto_create_policy:
            session.out.write("---\n" + render([policy], False))
    if flags.dry_run:
        return
    type_ = kind.type
    spelled = f"{kind.api_version}, Resource={type_.resource}"
    try:
        await hub.client.resource(type_).get(about["name"], about.get("namespace", ""))
    except NotFound:
        pass
    else:
        session.warn(
            f'Resource "{spelled}"({where}) already exist in karmada control plane, '
            "you can edit PropagationPolicy and OverridePolicy to propagate it"
        )
        return
    if about.get("namespace"):
        await _ensure_namespace(hub, about["namespace"])
    await hub.client.resource(type_).create(template, about.get("namespace", ""))
    session.print(f"ResourceTemplate ({where}) is created successfully")
    if flags.auto_create_policy:
        plural = "propagationpolicies" if about.get("namespace") else "clusterpropagationpolicies"
        policies = hub.resource("policy.karmada.io", "v1alpha1", plural)
        await policies.create(policy, about.get("namespace", ""))
        name = policy["metadata"]["name"]
        place = f"{about['namespace']}/{name}" if about.get("namespace") else name
        session.print(f"{policy['kind']} ({place}) is created successfully")
    session.print(f'Resource "{spelled}"({where}) is promoted successfully')


def as_template(found: JSONObject) -> JSONObject:
    """A member's object without what belongs to the member."""
    from karmada.api.annotations import CONFLICT_RESOLUTION
    from karmada.works.prune import prune

    template: JSONObject = {key: value for key, value in found.items() if key != "status"}
    template["metadata"] = dict(found["metadata"])
    template["metadata"].pop("managedFields", None)
    prune(template)
    annotations = {
        key: value
        for key, value in (template["metadata"].get("annotations") or {}).items()
        if key != "deployment.kubernetes.io/revision"
    }
    template["metadata"]["annotations"] = {**annotations, CONFLICT_RESOLUTION: "overwrite"}
    return template


async def _ensure_namespace(hub: Access, name: str) -> None:
    from karmada.machinery.errors import AlreadyExists

    namespaces = hub.resource("", "v1", "namespaces")
    try:
        await namespaces.get(name)
    except NotFound:
        try:
            await namespaces.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except AlreadyExists:
            return


async def _dependencies(session: Session, flags: Values, member: Access, found: JSONObject) -> None:
    """What the object refers to, read by the interpreter, is promoted first."""
    from karmada.interpreter.facade import native_interpreter
    from karmada.interpreter.model import Operation, kind_of

    interpreter = native_interpreter()
    if not interpreter.enabled(kind_of(found), Operation.DEPENDENCIES):
        session.warn(f"nothing is known about what a {found.get('kind', '')} needs")
        return
    session.print(f"use default interpreter to get dependencies of {found['metadata']['name']}")
    for needed in await interpreter.dependencies(found):
        if not needed.name:
            continue
        kind = await session.hub(flags).kinds.of(needed.api_version, needed.kind)
        try:
            item = await in_time(member, member.client.resource(kind.type).get(needed.name, needed.namespace))
            item = as_asked(item, kind, needed.name, needed.namespace, flags.cluster)
        except NotFound:
            session.warn(f"{needed.kind} {needed.namespace}/{needed.name} is not in cluster({flags.cluster})")
            continue
        await _promote(session, flags, kind, item)


COMMAND = Command(
    "promote",
    "<RESOURCE_TYPE> <RESOURCE_NAME> -n <NAME_SPACE> -C <CLUSTER_NAME>",
    "Take over an object of a member into the control plane, with a policy that leaves it where it is.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.cluster_flag("C"),
        *MEMBER_FLAGS[:2],
        Flag("auto-create-policy", True, "Make a policy that sends the object to the cluster it is from."),
        Flag("dependencies", False, "Take over what the object needs too.", "d"),
        common.SWITCH_DRY_RUN,
        common.OUTPUT,
        Flag("policy-name", "", "Name of the policy."),
    ),
    examples="""
karmadactl promote deployment nginx -n default -C member1
karmadactl promote deployment nginx -n default -C member1 --dry-run -o yaml
""",
)
