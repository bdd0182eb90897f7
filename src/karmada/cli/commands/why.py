"""`karmadactl why`: from the template to its members, up to the first broken link."""

from karmada.api.autoscaling.v1alpha1 import FederatedHPA
from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import Wanted
from karmada.cli.progress import Waiting
from karmada.cli.reading import check_known, cluster_names, namespace_of
from karmada.cli.session import Session

AUTOSCALER = ("autoscaling.karmada.io", "FederatedHPA")


async def run(session: Session, flags: Values) -> int:
    """Explain; the exit status is 1 where something is broken, so that scripts can ask too."""
    wanted = await one_wanted(session, flags)
    hub = session.hub(flags)
    if flags.cluster:
        check_known(flags.cluster, await cluster_names(hub))
    from karmada.cli.output.chain import as_text, lay_out
    from karmada.explain.why.chain import chain
    from karmada.explain.why.facts import read
    from karmada.explain.why.links import as_data, first_broken

    namespace = namespace_of(hub, flags, wanted.kind)
    if (wanted.kind.type.group, wanted.kind.kind) == AUTOSCALER:
        from karmada.explain.why.autoscaling import explain

        links = explain(await hub.client.of(FederatedHPA).get(wanted.name, namespace))
    else:
        with Waiting(session, "waiting for the members", after=1.0):
            facts = await read(hub.client, session.members(flags), wanted.kind, namespace, wanted.name)
        links = chain(facts, flags.cluster)
    where = f" in namespace {namespace}" if namespace else ""
    title = f"{wanted.kind.kind} {wanted.name}{where}"
    match flags.output:
        case "":
            session.out.write(as_text(title, links, session.colours, session.columns))
        case "json":
            import orjson

            lay_out(links)
            session.print(orjson.dumps(as_data(title, links), option=orjson.OPT_INDENT_2).decode())
        case "yaml":
            from karmada.api import yaml

            lay_out(links)
            session.out.write(yaml.dump(as_data(title, links)))
        case _:
            raise CommandError("--output is json or yaml")
    return 1 if first_broken(links) else 0


async def one_wanted(session: Session, flags: Values) -> Wanted:
    """The one object that a command is about."""
    wanted = await session.hub(flags).kinds.wanted(flags.arguments)
    if len(wanted) != 1 or not wanted[0].name:
        raise CommandError("name one object: KIND/NAME")
    return wanted[0]


COMMAND = Command(
    "why",
    "KIND/NAME [-n NAMESPACE] [-C CLUSTER]",
    "Say why a workload is (not) where it should be.\n\n"
    "Walks from the template over the policies that matched and lost, the binding, every cluster's filter, score,\n"
    "room and share, overrides and Works to the members' status and events. Stops at the first broken link and says\n"
    "what to do about it. Exits with 1 if there is one. With -C: why it is not in that cluster.\n"
    "Of a FederatedHPA it shows every metric with its ratio and proposal, the limits and the result.",
    run,
    (
        *common.CONNECTION,
        common.NAMESPACE,
        common.cluster_flag("C"),
        Flag("output", "", "json or yaml.", "o"),
    ),
    examples="""
karmadactl why deployment/nginx
karmadactl why deployment/nginx -C member3
karmadactl why deployment/nginx -o json | jq .remedy
karmadactl why fhpa/nginx
""",
)
