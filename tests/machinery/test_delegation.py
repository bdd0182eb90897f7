"""Debug pages are for those whom the API server lets read them."""

import pytest

from karmada.machinery.client import Client
from karmada.machinery.delegation import KEPT, DelegatedAuthorizer
from karmada.machinery.errors import Unavailable
from karmada.machinery.serving import DiagnosticsRequest, DiagnosticsServer
from karmada.machinery.transport import GroupVersionResource

ACCOUNTS = GroupVersionResource("", "v1", "serviceaccounts")
ROLES = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterroles")
BINDINGS = GroupVersionResource("rbac.authorization.k8s.io", "v1", "clusterrolebindings")


async def token_of(client, name, granted):
    await client.resource(ACCOUNTS).create({"metadata": {"name": name, "namespace": "default"}})
    if granted:
        rules = [{"nonResourceURLs": ["/debug/*"], "verbs": ["get"]}]
        await client.resource(ROLES).create({"metadata": {"name": "debug"}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "debug"}
        body = {"metadata": {"name": "debug"}, "roleRef": reference, "subjects": [subject]}
        await client.resource(BINDINGS).create(body)
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = await client.resource(ACCOUNTS).submit(name, "token", request, "default")
    return answer["status"]["token"]


@pytest.mark.parametrize("granted", [True, False], ids=["granted", "not granted"])
async def test_access_is_decided_by_the_api_server(apiserver, granted):
    async with apiserver() as server:
        client = Client(server.direct())
        token = await token_of(client, "someone", granted)
        diagnostics = DiagnosticsServer(authorize=DelegatedAuthorizer(client))
        answer = await diagnostics.answer(DiagnosticsRequest("/debug/tasks", {}, {"authorization": f"Bearer {token}"}))
        assert answer.status == (200 if granted else 403)


class Reviews:
    """A transport that answers reviews and counts them."""

    def __init__(self):
        self.requests = 0
        self.failure = None

    async def send(self, request):
        self.requests += 1
        if self.failure:
            raise self.failure
        if request.resource.resource == "tokenreviews":
            good = b'"token":"good"' in request.body
            return b'{"status":{"authenticated":%s,"user":{"username":"jane"}}}' % (b"true" if good else b"false")
        return b'{"status":{"allowed":true}}'


class Stopped:
    """A clock that stands still."""

    now = 0.0

    def monotonic(self):
        return self.now


def page(token, path="/debug/tasks"):
    return DiagnosticsRequest(path, {}, {"authorization": f"Bearer {token}"} if token else {})


async def test_answers_are_kept_for_a_short_while():
    reviews, clock = Reviews(), Stopped()
    authorize = DelegatedAuthorizer(Client(reviews), clock)
    assert [await authorize(page("good")) for _ in range(3)] == [True] * 3
    assert reviews.requests == 2
    clock.now = KEPT + 1
    assert await authorize(page("good"))
    assert reviews.requests == 4


async def test_a_review_that_fails_means_no_and_is_not_kept():
    reviews = Reviews()
    authorize = DelegatedAuthorizer(Client(reviews), Stopped())
    reviews.failure = Unavailable("down")
    assert not await authorize(page("good"))
    reviews.failure = None
    assert await authorize(page("good"))


@pytest.mark.parametrize(
    "request_", [page(""), page("bad"), DiagnosticsRequest("/x", {}, {"authorization": "Basic eA=="})]
)
async def test_without_a_good_token_the_answer_is_no(request_):
    assert not await DelegatedAuthorizer(Client(Reviews()), Stopped())(request_)
