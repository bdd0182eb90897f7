"""Objects nested deeper than can be stored are refused, whoever sends them."""

from typing import Any

import pytest

from karmada.apiserver.server import ADMIN, ApiServer
from karmada.machinery.errors import BadRequest
from karmada.machinery.transport import GroupVersionResource, Request, Verb

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")


def nested(levels: int) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for _ in range(levels):
        tree = {"f:a": tree}
    return tree


@pytest.mark.parametrize("levels", [300, 5000])
async def test_deeply_nested_objects_are_refused(levels: int) -> None:
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    body = {"metadata": {"name": "deep", "managedFields": [{**entry, "fieldsV1": nested(levels)}]}, "data": {"a": "1"}}
    async with ApiServer() as server:
        with pytest.raises(BadRequest, match="nested too deeply"):
            await server.direct(ADMIN).send(Request(Verb.CREATE, CONFIG_MAPS, "default", body=body))
