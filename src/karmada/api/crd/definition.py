"""From an entry of the table of kinds to its CustomResourceDefinition."""

from typing import Any

from karmada.api.crd.schema import root_schema
from karmada.api.kinds import KINDS, Column, Home, Kind, Version

Json = dict[str, Any]


def definitions(home: Home = Home.CRD) -> list[Json]:
    """The CRDs that belong into one API server."""
    return [definition(kind) for kind in KINDS if kind.home is home]


def definition(kind: Kind) -> Json:
    """The CRD of a kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(version) for version in kind.versions],
        },
    }


def with_conversion_webhook(crd: Json, client_config: Json) -> Json:
    """A CRD whose versions are converted by a webhook; only where there is more than one."""
    if len(crd["spec"]["versions"]) == 1:
        return crd
    webhook = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
    return crd | {"spec": crd["spec"] | {"conversion": {"strategy": "Webhook", "webhook": webhook}}}


def _names(kind: Kind) -> Json:
    names: Json = {"kind": kind.kind, "plural": kind.plural, "singular": kind.singular}
    if kind.group.endswith(".karmada.io"):  # the community's CRDs leave it to the API server
        names["listKind"] = f"{kind.kind}List"
    if kind.short_names:
        names["shortNames"] = list(kind.short_names)
    if kind.categories:
        names["categories"] = list(kind.categories)
    return names


def _version(version: Version) -> Json:
    entry: Json = {
        "name": version.name,
        "served": True,
        "storage": version.storage,
        "schema": {"openAPIV3Schema": root_schema(version.type)},
    }
    if version.subresources is not None:
        entry["subresources"] = {name: {} for name in version.subresources}
    if version.columns:
        entry["additionalPrinterColumns"] = [_column(column) for column in version.columns]
    return entry


def _column(column: Column) -> Json:
    return {"name": column.name, "jsonPath": column.json_path, "type": column.type} | (
        {"priority": 1} if column.wide else {}
    )
