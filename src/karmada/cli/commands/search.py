"""`karmadactl search`: objects of all clusters by their words, where karmada-search caches their kind."""

import time
from typing import Any
from urllib.parse import quote

import orjson

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.flags import Flag, Values
from karmada.cli.output.controls import Painted, shown
from karmada.cli.output.tabs import aligned
from karmada.cli.session import Session
from karmada.machinery.errors import NotFound

JSONObject = dict[str, Any]
PATH = "/apis/search.karmada.io/v1alpha1/search/query"
_HEAD = ["CLUSTER", "NAMESPACE", "KIND", "NAME", "STATUS", "AGE", "MATCH"]


async def run(session: Session, flags: Values) -> None:
    """Ask, and show what was found."""
    if not flags.arguments:
        raise CommandError("say what to search for, such as: karmadactl search nginx kind:Pod")
    if flags.output not in ("", "json", "yaml", "name"):
        raise CommandError("--output is json, yaml or name")
    query = quote(" ".join(flags.arguments))
    try:
        body = await session.hub(flags).transport.raw("GET", f"{PATH}?q={query}&limit={flags.limit}")
    except NotFound:
        raise CommandError("the control plane serves no search (search.karmada.io)") from None
    answer: JSONObject = orjson.loads(body)
    items: list[JSONObject] = answer["items"]
    match flags.output:
        case "json":
            session.print(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode())
        case "yaml":
            from karmada.api import yaml

            session.out.write(yaml.dump(answer))
        case "name":
            for item in items:
                where = f"{item['namespace']}/" if item["namespace"] else ""
                session.print(f"{item['cluster']} {item['kind'].lower()}/{where}{item['name']}")
        case _ if not items:
            session.err.write("nothing matches; kinds are searchable once a ResourceRegistry selects them\n")
        case _:
            session.out.write(aligned([_HEAD, *(_row(item, session.colours) for item in items)]))
            if answer.get("more"):
                session.err.write(f"there is more than the {flags.limit} newest: narrow the query, or raise --limit\n")


def _row(item: JSONObject, colours: bool) -> list[str]:
    from karmada.apiserver.printing import cells

    excerpt = " ".join(item["excerpt"].split())
    if colours:
        excerpt = Painted(shown(excerpt).replace("[", "\033[1m").replace("]", "\033[0m"))
    age = cells.since(item["creationTimestamp"], time.time())
    return [item["cluster"], item["namespace"], item["kind"], item["name"], item["status"], age, excerpt]


COMMAND = Command(
    "search",
    "QUERY",
    "Find objects of all clusters by their words.\n\n"
    "A query holds words, which match the beginnings of words anywhere in an object, and terms: cluster, image, kind,\n"
    "label, name, namespace and status, each with a colon and a value that may hold *, and age>1d or age<2h. All of\n"
    "them must hold. The newest come first. Searchable is what a ResourceRegistry selects, and shown is what you may\n"
    "read in the cluster that has it.",
    run,
    (
        *common.CONNECTION,
        Flag("limit", 100, "How many to show at most."),
        Flag("output", "", "json, yaml or name.", "o"),
    ),
    examples="""
karmadactl search nginx
karmadactl search kind:Pod cluster:member1 status:CrashLoopBackOff
karmadactl search 'label:app=web image:nginx* age>1d' -o name
""",
)
