"""Who may do what: roles, their bindings, and service accounts."""

from collections.abc import Iterator
from typing import Any

from karmada.cli.describe import metadata
from karmada.cli.describe.page import Page
from karmada.cli.describe.related import Query, Related

JSONObject = dict[str, Any]
_TOKEN = "kubernetes.io/service-account-token"


def role(page: Page, item: JSONObject, _: Related) -> None:
    """A Role or ClusterRole: one line for each resource."""
    page.field(0, "Name", item["metadata"]["name"])
    metadata.marks(page, item)
    page.line(0, "PolicyRule:")
    rows = [
        (_resource(one), _list(one["nonResourceURLs"]), _list(one["resourceNames"]), _list(one["verbs"]))
        for one in sorted(_compact(item.get("rules") or []), key=_order)
    ]
    page.table(1, ("Resources", "Non-Resource URLs", "Resource Names", "Verbs"), rows)


def _single(rules: list[JSONObject]) -> Iterator[JSONObject]:
    """Rules about one thing each."""
    for rule in rules:
        empty: JSONObject = {"apiGroups": [], "resources": [], "resourceNames": [], "nonResourceURLs": []}
        verbs = {**empty, "verbs": list(rule.get("verbs") or ())}
        for group in rule.get("apiGroups") or ():
            for resource in rule.get("resources") or ():
                one = {**verbs, "apiGroups": [group], "resources": [resource]}
                for name in rule.get("resourceNames") or ():
                    yield {**one, "resourceNames": [name]}
                if not rule.get("resourceNames"):
                    yield one
        for url in rule.get("nonResourceURLs") or ():
            yield {**verbs, "nonResourceURLs": [url]}


def _compact(rules: list[JSONObject]) -> list[JSONObject]:
    """Rules about the same resource as one."""
    found: list[JSONObject] = []
    plain: dict[tuple[str, str], JSONObject] = {}
    for one in _single(rules):
        key = (one["apiGroups"][0], one["resources"][0]) if one["resources"] and not one["resourceNames"] else None
        if key is not None and key in plain:
            plain[key]["verbs"] = plain[key]["verbs"] + one["verbs"]
            continue
        if key is not None:
            plain[key] = one
        found.append(one)
    return found


def _order(one: JSONObject) -> tuple[str, ...]:
    keys = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
    return tuple(f"{_list(one[key])}," for key in keys)


def _resource(one: JSONObject) -> str:
    if not one["resources"]:
        return ""
    name, slash, part = one["resources"][0].partition("/")
    group = one["apiGroups"][0]
    return f"{name}{'.' * bool(group)}{group}{slash}{part}"


def _list(values: list[str]) -> str:
    return f"[{' '.join(values)}]"


def binding(page: Page, item: JSONObject, _: Related) -> None:
    """A RoleBinding or ClusterRoleBinding."""
    page.field(0, "Name", item["metadata"]["name"])
    metadata.marks(page, item)
    page.line(0, "Role:")
    page.field(1, "Kind", item["roleRef"]["kind"])
    page.field(1, "Name", item["roleRef"]["name"])
    page.line(0, "Subjects:")
    rows = [(one["kind"], one["name"], one.get("namespace", "")) for one in item.get("subjects") or ()]
    page.table(1, ("Kind", "Name", "Namespace"), rows)


def secrets_near(item: JSONObject) -> dict[str, Query]:
    """The secrets beside an account."""
    return {"secrets": Query("", "v1", "secrets", item["metadata"].get("namespace", ""))}


def service_account(page: Page, item: JSONObject, related: Related) -> None:
    """A ServiceAccount."""
    known = {secret["metadata"]["name"] for secret in related["secrets"]}
    tokens = [secret["metadata"]["name"] for secret in related["secrets"] if _is_token_of(item, secret)]
    pull = [one["name"] for one in item.get("imagePullSecrets") or ()]
    mounted = [one["name"] for one in item.get("secrets") or ()]
    metadata.head(page, item)
    for title, names in (("Image pull secrets", pull), ("Mountable secrets", mounted), ("Tokens", tokens)):
        page.several(0, title, [name if name in known else f"{name} (not found)" for name in names])


def _is_token_of(account: JSONObject, secret: JSONObject) -> bool:
    marks = secret["metadata"].get("annotations") or {}
    return (
        secret.get("type") == _TOKEN
        and marks.get("kubernetes.io/service-account.name") == account["metadata"]["name"]
        and marks.get("kubernetes.io/service-account.uid") == account["metadata"].get("uid")
    )
