"""The flow-control objects that Kubernetes creates by itself; what is absent is created.

The table `defaults.jsonl` is made by `generate` from what a stock kube-apiserver created.
"""

import asyncio
from importlib.resources import files

import orjson

from karmada.apiserver.controllers.writing import Writer
from karmada.apiserver.requests.model import Context
from karmada.apiserver.resources import JSONObject
from karmada.apiserver.watchcache import Kind

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS: Kind = (GROUP, "flowschemas")
LEVELS: Kind = (GROUP, "prioritylevelconfigurations")
_KINDS = {"FlowSchema": SCHEMAS, "PriorityLevelConfiguration": LEVELS}
_AUTOUPDATE = "apf.kubernetes.io/autoupdate-spec"
_MANAGER = "api-priority-and-fairness-config-producer-v1"


async def seed(context: Context) -> None:
    """Create those that are missing, levels before the schemas that name them."""
    writer = Writer(context, "apiserver", _MANAGER)
    for wanted in (LEVELS, SCHEMAS):
        # Together, so that a durable store commits them together.
        await asyncio.gather(
            *(
                writer.create(kind, "", obj)
                for kind, obj in default_objects()
                if kind == wanted and context.store.get(kind, "", obj["metadata"]["name"]) is None
            )
        )


def default_objects() -> list[tuple[Kind, JSONObject]]:
    """All of them with their kinds."""
    lines = files(__package__).joinpath("defaults.jsonl").read_bytes().splitlines()
    return [_object(*orjson.loads(line)) for line in lines]


def _object(kind: str, name: str, spec: JSONObject) -> tuple[Kind, JSONObject]:
    return _KINDS[kind], {"metadata": {"name": name, "annotations": {_AUTOUPDATE: "true"}}, "spec": spec}
