"""What another server says it serves, in the form of aggregated discovery. Pure."""

from karmada.apiserver.resources import JSONObject


def resources_of(document: JSONObject) -> list[JSONObject]:
    """The resources of an APIResourceList as aggregated discovery lists them, subresources inside their resource."""
    group, _, version = str(document.get("groupVersion", "")).rpartition("/")
    found: dict[str, JSONObject] = {}
    listed: list[JSONObject] = [item for item in document.get("resources") or () if isinstance(item, dict)]
    for item in listed:
        name, _, subresource = str(item.get("name", "")).partition("/")
        kind = {
            "group": item.get("group") or group,
            "version": item.get("version") or version,
            "kind": item.get("kind", ""),
        }
        verbs = list(item.get("verbs") or ())
        if subresource:
            if name in found:
                entry = {"subresource": subresource, "responseKind": kind, "verbs": verbs}
                found[name].setdefault("subresources", []).append(entry)
            continue
        found[name] = {
            "resource": name,
            "responseKind": kind,
            "scope": "Namespaced" if item.get("namespaced") else "Cluster",
            "singularResource": item.get("singularName") or "",
            "verbs": verbs,
        }
        for key in ("shortNames", "categories"):
            if item.get(key):
                found[name][key] = list(item[key])
    return list(found.values())


def group_of(name: str, versions: dict[str, list[JSONObject] | None]) -> JSONObject:
    """A group with its versions; a version whose resources are not known is stale."""
    return {
        "metadata": {"name": name},
        "versions": [
            {
                "version": version,
                "resources": resources or [],
                "freshness": "Current" if resources is not None else "Stale",
            }
            for version, resources in versions.items()
        ],
    }
