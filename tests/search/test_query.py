"""Objects found by their words: what a query means, what is indexed, and who sees it."""

from urllib.parse import quote

import orjson
import pytest
from tests.membership.world import eventually
from tests.search.world import GROUP, PODS, Searched, pod, registry

from karmada.machinery.errors import BadRequest
from karmada.machinery.transport import GroupVersionResource, JSONObject
from karmada.search.query import Age, Query, QueryError, parse

SECRETS = GroupVersionResource("", "v1", "secrets")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("crash loop", Query(("crash", "loop"))),
        ("kind:Pod image:nginx*", Query((), (("kind", "Pod"), ("image", "nginx*")))),
        ("label:app=web age>1d", Query((), (("label", "app=web"),), (Age(True, 86400),))),
        ("'two words' age<30m", Query(("two", "words"), (), (Age(False, 1800),))),
    ],
)
def test_a_query_is_words_and_terms(text: str, meant: Query) -> None:
    assert parse(text) == meant


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the query is empty"),
        ("colour:red", "there is no field colour; there are: cluster, image"),
        ("age>soon", "age>soon is no age: write age>1d"),
        ("kind:", "kind: names no value"),
        ("'", "cannot be read"),
        ("a " * 30, "more than 20 terms"),
        ("x" * 2000, "more than 1000 characters"),
    ],
)
def test_a_query_that_means_nothing_is_refused_with_a_remedy(text: str, complaint: str) -> None:
    with pytest.raises(QueryError, match=complaint.replace("*", ".")):
        parse(text)


async def test_objects_of_all_clusters_are_found_by_their_words(searched: Searched) -> None:
    for name, member in searched.members.items():
        made = pod(f"web-{name}", app="web")
        made["spec"]["containers"][0]["image"] = "nginx:1.25"
        await member.client.resource(PODS).create(made)
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}}
        await member.client.resource(SECRETS).create(secret | {"stringData": {"password": "hunter2"}})
    await searched.register(registry(("v1", "Pod"), ("v1", "Secret")))
    admin = searched.client(path=f"{GROUP}/search")

    async def ask(query: str) -> list[JSONObject]:
        answer = orjson.loads(await admin.transport.raw("GET", f"/query?q={quote(query)}"))
        items: list[JSONObject] = answer["items"]
        return items

    async def found(query: str, count: int) -> list[tuple[str, str]]:
        async def enough() -> list[JSONObject] | None:
            items = await ask(query)
            return items if len(items) == count else None

        return sorted((item["cluster"], item["name"]) for item in await eventually(enough))

    assert await found("nginx", 2) == [("member1", "web-member1"), ("member2", "web-member2")]
    assert await found("image:nginx* cluster:member2", 1) == [("member2", "web-member2")]
    assert await found("label:app=web kind:pod name:*member1", 1) == [("member1", "web-member1")]
    assert await ask("hunter2") == []
    assert await ask("kind:Pod age>1d") == []
    with pytest.raises(BadRequest, match="there is no field colour"):
        await ask("colour:red")
    await searched.members["member2"].client.resource(SECRETS).delete("s", "default")
    assert await found("kind:Secret name:s", 1) == [("member1", "s")]
    await searched.grant(
        searched.hub, "dev", {"apiGroups": ["search.karmada.io"], "resources": ["search"], "verbs": ["get"]}
    )
    dev = searched.client("dev", path=f"{GROUP}/search")
    assert orjson.loads(await dev.transport.raw("GET", "/query?q=nginx"))["items"] == []
    await dev.close()
    await admin.close()
