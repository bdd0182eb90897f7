"""Bindings between their versions inside the embedded API server, in place of a conversion webhook."""

from karmada.api.work.conversion import convert
from karmada.apiserver.resources import JSONObject

CONVERTED = ("resourcebindings.work.karmada.io", "clusterresourcebindings.work.karmada.io")


class BindingConverter:
    """A `Converter` for both kinds of bindings."""

    async def convert(self, objects: list[JSONObject], version: str) -> list[JSONObject]:
        """The bindings in another version; their metadata stays as it is."""
        wanted = f"work.karmada.io/{version}"
        return [_converted(tree, wanted) for tree in objects]


def _converted(tree: JSONObject, wanted: str) -> JSONObject:
    if tree.get("apiVersion") == wanted:
        return tree
    return convert(tree, wanted) | {"metadata": tree["metadata"]}
