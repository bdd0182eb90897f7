"""`karmadactl interpret`: try out customisations of the resource interpreter without a control plane."""

from typing import Any

from karmada.cli import common_flags as common
from karmada.cli.command import Command
from karmada.cli.failures import CommandError
from karmada.cli.files import parse, read_objects, read_text
from karmada.cli.flags import Flag, Values
from karmada.cli.kinds import NOTHING_NAMED
from karmada.cli.session import Session

JSONObject = dict[str, Any]
OPERATIONS = (
    "Retain",
    "InterpretReplica",
    "InterpretComponent",
    "ReviseReplica",
    "InterpretStatus",
    "AggregateStatus",
    "InterpretHealth",
    "InterpretDependency",
)
FIELDS = {
    "Retain": "retention",
    "InterpretReplica": "replicaResource",
    "InterpretComponent": "componentResource",
    "ReviseReplica": "replicaRevision",
    "InterpretStatus": "statusReflection",
    "AggregateStatus": "statusAggregation",
    "InterpretHealth": "healthInterpretation",
    "InterpretDependency": "dependencyInterpretation",
}
DOCS = {
    "Retain": "function Retain(desiredObj, observedObj) -> the object to send to the member",
    "InterpretReplica": "function GetReplicas(obj) -> replicas, requirements of one",
    "InterpretComponent": "function GetComponents(obj) -> list of components",
    "ReviseReplica": "function ReviseReplica(obj, desiredReplica) -> the object with that many replicas",
    "InterpretStatus": "function ReflectStatus(observedObj) -> the part of the status worth reporting",
    "AggregateStatus": "function AggregateStatus(desiredObj, items) -> the object with its status put together",
    "InterpretHealth": "function InterpretHealth(observedObj) -> true or false",
    "InterpretDependency": "function GetDependencies(desiredObj) -> list of references",
}
RULE = "-" * 35


async def run(session: Session, flags: Values) -> int | None:
    """Check customisations, or ask them."""
    if flags.show_doc:
        for name in OPERATIONS:
            session.print(f"{name}:\n    {DOCS[name]}")
        return 0
    if flags.edit:
        raise CommandError("--edit is not supported: edit the file, then run with --check")
    operation = next((name for name in OPERATIONS if name.lower() == flags.operation.lower()), "")
    if flags.operation and not operation:
        raise CommandError(f"operation {flags.operation} is not supported. Use one of: {', '.join(OPERATIONS)}")
    if not flags.filename:
        raise CommandError(NOTHING_NAMED)
    flags.kustomize = ""
    customizations = [item for item in read_objects(flags) if item["kind"] == "ResourceInterpreterCustomization"]
    if not customizations:
        raise CommandError("the files hold no ResourceInterpreterCustomization")
    if flags.check:
        return _check(session, customizations)
    if not operation:
        raise CommandError("either --check or --operation is needed")
    await _ask(session, flags, customizations, operation)
    return 0


def _check(session: Session, customizations: list[JSONObject]) -> int:
    """Whether each script can be read."""
    failed = False
    for item in customizations:
        target = item["spec"]["target"]
        session.print(RULE)
        session.print(f"SOURCE: {item['metadata']['name']}")
        session.print(f"TARGET: {target['apiVersion']} {target['kind']}   ")
        session.print("RULERS:")
        for name in OPERATIONS:
            script = ((item["spec"].get("customizations") or {}).get(FIELDS[name]) or {}).get("luaScript", "")
            verdict = _syntax(script) if script else "UNSET"
            failed = failed or verdict.startswith("ERROR")
            session.print(f"    {name + ':':<32}{verdict}")
    return 1 if failed else 0


def _syntax(script: str) -> str:
    from karmada.interpreter.lua.engine import CallFailed, Engine

    try:
        Engine().load("script", script)
    except CallFailed as error:
        return f"ERROR: {error}"
    return "PASS"


async def _ask(session: Session, flags: Values, customizations: list[JSONObject], operation: str) -> None:
    from karmada.api.codec import from_tree
    from karmada.api.config.v1alpha1 import ResourceInterpreterCustomization
    from karmada.interpreter.customization import scripts_of
    from karmada.interpreter.lua.level import LuaLevel
    from karmada.interpreter.lua.pool import Pool
    from karmada.interpreter.model import InterpretError

    pool = Pool()
    level = LuaLevel(pool, scripts_of(from_tree(item, ResourceInterpreterCustomization) for item in customizations))
    try:
        results = await _results(level, flags, operation)
    except InterpretError as error:
        raise CommandError(f"{operation}: {error}") from error
    finally:
        await pool.close()
    from karmada.api import yaml

    for index, (name, value) in enumerate(results, 1):
        session.out.write(f"---\n# [{index}/{len(results)}] {name}:\n{yaml.dump(value)}")


async def _results(level: Any, flags: Values, operation: str) -> list[tuple[str, Any]]:
    from karmada.api.codec import from_tree, to_tree
    from karmada.api.work.v1alpha2 import AggregatedStatusItem

    match operation:
        case "InterpretReplica":
            needs = await level.replicas(_one(flags, "desired", "observed"))
            requires = to_tree(needs.requirements) if needs.requirements is not None else None
            return [("replica", needs.replicas), ("requires", requires)]
        case "InterpretComponent":
            found = await level.components(_one(flags, "desired", "observed"))
            return [("components", [to_tree(one) for one in found])]
        case "ReviseReplica":
            return [("revised", await level.revise(_one(flags, "desired", "observed"), flags.desired_replica))]
        case "Retain":
            return [("retained", await level.retain(_one(flags, "desired"), _one(flags, "observed")))]
        case "InterpretStatus":
            return [("status", await level.reflect(_one(flags, "observed", "desired")))]
        case "InterpretHealth":
            return [("healthy", await level.healthy(_one(flags, "observed", "desired")))]
        case "InterpretDependency":
            needed = await level.dependencies(_one(flags, "desired", "observed"))
            return [("dependencies", [to_tree(one) for one in needed])]
    items = [from_tree(item, AggregatedStatusItem) for item in _statuses(flags)]
    return [("aggregatedStatus", await level.aggregate(_one(flags, "desired"), items))]


def _one(flags: Values, *kinds: str) -> JSONObject:
    """The object of the first file that is given."""
    for kind in kinds:
        path = getattr(flags, f"{kind}_file")
        if path:
            found = list(parse(read_text(path), path))
            if len(found) != 1:
                raise CommandError(f"{path}: holds {len(found)} objects, one is needed")
            return found[0]
    raise CommandError(f"--{kinds[0]}-file is needed for this operation")


def _statuses(flags: Values) -> list[JSONObject]:
    from karmada.api import yaml

    if not flags.status_file:
        raise CommandError("--status-file is needed for this operation")
    found: list[JSONObject] = []
    for document in yaml.load_all(read_text(flags.status_file)):
        found += document if isinstance(document, list) else [document]
    return found


COMMAND = Command(
    "interpret",
    "(-f FILENAME) (--operation OPERATION) [--ARGS VALUE]... ",
    "Try out customisations of the resource interpreter: check their scripts, or ask one of their questions about\n"
    "objects in files.",
    run,
    (
        *common.CONNECTION,
        Flag("filename", [], "Files with ResourceInterpreterCustomizations.", "f"),
        common.RECURSIVE,
        *common.PRINTING,
        Flag("check", False, "Check whether the scripts can be read."),
        Flag("desired-file", "", "File with the object as it is wanted."),
        Flag("desired-replica", 0, "Replicas for ReviseReplica."),
        Flag("edit", False, "Not supported."),
        Flag("observed-file", "", "File with the object as a member has it."),
        Flag("operation", "", f"One of {', '.join(OPERATIONS)}."),
        Flag("show-doc", False, "Show what functions scripts have."),
        Flag("status-file", "", "File with the statuses of members for AggregateStatus."),
    ),
    examples="""
karmadactl interpret -f customization.yaml --check
karmadactl interpret -f customization.yaml --observed-file widget.yaml --operation=InterpretHealth
""",
    files_only=True,
)
