"""What the dashboard writes: with whose rights, in which namespace, past which checks."""

import pytest
from tests.dashboard.world import API, Browser, Dashboards

from karmada.machinery.errors import NotFound
from karmada.machinery.transport import GroupVersionResource, JSONObject

CONFIGMAPS = GroupVersionResource("", "v1", "configmaps")
SECRETS = GroupVersionResource("", "v1", "secrets")
HOOKS = GroupVersionResource("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
EVERYTHING: JSONObject = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
MINE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine, namespace: default}\n"
THEIRS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: other}\ndata: {whose: tenants}\n"


def listed(*documents: str) -> str:
    items = "".join("- " + document.replace("\n", "\n  ").rstrip() + "\n" for document in documents)
    return f"apiVersion: v1\nkind: List\nitems:\n{items}"


WAYS = {
    "alone": THEIRS,
    "behind one's own": f"{MINE}---\n{THEIRS}",
    "in a list": listed(MINE, THEIRS),
    "by a path": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: default/../other}\n",
    "by an encoded path": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: x%2f..%2fother}\n",
    "by a query": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs, namespace: 'other?x='}\n",
    "without a namespace": "apiVersion: v1\nkind: Namespace\nmetadata: {name: other, labels: {whose: tenants}}\n",
}


async def applied(browser: Browser, path: str, manifests: str) -> list[JSONObject]:
    """What became of each object; nothing where the request was refused as a whole."""
    reply = await browser.post(f"{API}/{path}", {"manifests": manifests, "force": True})
    return list(reply.json) if reply.status == 200 else []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", ["dry-run", "apply"])
async def test_a_tenant_writes_in_no_other_namespace(dashboards: Dashboards, path: str, way: str) -> None:
    """CVE-2026-88808: copied with the rights of the program, into whatever namespace the copy named."""
    namespaces, configmaps = dashboards.hub.resource(NAMESPACES), dashboards.hub.resource(CONFIGMAPS)
    await namespaces.create({"metadata": {"name": "other"}})
    before = await configmaps.create(
        {"metadata": {"name": "theirs", "namespace": "other"}, "data": {"whose": "theirs"}}
    )
    browser = dashboards.browser()
    await browser.login(await dashboards.token("tenant", EVERYTHING, namespace="default"))
    assert [one["action"] for one in await applied(browser, path, WAYS[way])][-1:] in ([], ["failed"])
    assert await configmaps.get("theirs", "other") == before
    assert "whose" not in (await namespaces.get("other"))["metadata"]["labels"]
    assert (await applied(browser, path, MINE))[0]["action"] != "failed", "one's own namespace is open"


async def judge(dashboards: Dashboards, resource: str) -> None:
    """A webhook that has to be asked and is not there."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": [resource]}
    hook: JSONObject = {
        "name": "judge.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/judge"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    await dashboards.hub.resource(HOOKS).create({"metadata": {"name": "judge"}, "webhooks": [hook]})


async def test_nothing_is_applied_while_the_webhook_that_judges_it_is_away(dashboards: Dashboards) -> None:
    """CVE-2023-22651: an upgrade left the webhook misconfigured, and what it would have refused was let in."""
    browser = await dashboards.admin()
    await judge(dashboards, "configmaps")
    for path in ("dry-run", "apply"):
        (message,) = await applied(browser, path, MINE)
        assert message["action"] == "failed"
        assert "judge.example.com" in message["errors"][0]["message"]
    with pytest.raises(NotFound):
        await dashboards.hub.resource(CONFIGMAPS).get("mine", "default")


async def test_no_token_is_made_while_the_webhook_that_judges_it_is_away(dashboards: Dashboards) -> None:
    """CVE-2023-22651, for the one object that the dashboard makes by itself."""
    browser, secrets = await dashboards.admin(), dashboards.hub.resource(SECRETS)
    before = len((await secrets.list()).items)
    await judge(dashboards, "secrets")
    refused = await browser.post(f"{API}/join", {"name": "puller", "mode": "Pull"})
    assert (refused.status, "judge.example.com" in refused.message) == (500, True)
    assert len((await secrets.list()).items) == before
