"""What registrations of agents come to when a write fails, and when they may no longer be approved afterwards."""

import pytest
from tests.controllers.plane import on_a_plane
from tests.controllers.test_agent_csr import KEY, LATER, ask, bearer_of, begin, group, holder, roles

from karmada.controllers.agent_csr import REQUESTS, REVIEWS
from karmada.machinery.errors import Unavailable
from karmada.machinery.transport import Verb
from karmada.membership import objects

WRITES = {Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE}


def each(first, later):
    """Each of so many writes of the first registration of a name, and of a later one."""
    cases = [(False, write) for write in range(first)] + [(True, write) for write in range(later)]
    return pytest.mark.parametrize(("earlier", "write"), cases)


def is_write(request):
    return request.verb in WRITES and request.resource != REVIEWS


def is_spending(request):
    return request.verb is Verb.PATCH and request.resource == objects.SECRETS


def failing(*matches):
    """A `before` that has the first request which each of these matches fail, one after the other; what is left."""
    left = list(matches)

    async def before(request):
        if left and left[0](request):
            del left[0]
            raise Unavailable("try again")

    return before, left


def after(count, matches):
    """Whether it is the next match after so many."""
    seen = []

    def match(request):
        if matches(request):
            seen.append(request)
        return len(seen) > count

    return match


async def used_by(bearer, plane, name):
    """Whether the holder of a token for one cluster may register no other one."""
    return "was used by" in (await ask(plane, name, name, client=bearer))[1]


@each(10, 15)
def test_a_registration_goes_on_whichever_write_fails(earlier, write):
    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        if earlier:
            await ask(plane, "m1-first", "m1", KEY, client=one)
        plane.transport.before, left = failing(after(write, is_write))
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == "Approved"
        assert not left
        plane.transport.before = None
        assert await holder(plane, "m1") == group("m1", LATER)
        assert not await used_by(one, plane, "m2")
        assert await used_by(other, plane, "m3")

    on_a_plane(scenario)


@each(7, 12)
def test_a_registration_whose_token_is_deleted_before_it_is_spent_leaves_what_was_there(earlier, write):
    """Also when it takes two attempts to give back what it had taken."""

    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        if earlier:
            await ask(plane, "m1-first", "m1", KEY, client=one)
        fail, left = failing(is_spending, after(write, is_write))

        async def before(request):
            if is_spending(request) and len(left) == 2:
                await plane.client.resource(objects.SECRETS).delete("bootstrap-token-ghijkl", "kube-system")
            await fail(request)

        plane.transport.before = before
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == "Denied"
        assert not left
        plane.transport.before = None
        await plane.client.resource(REQUESTS).delete("m1-later")
        await plane.clock.sleep(60)
        assert await holder(plane, "m1") == (group("m1", KEY) if earlier else None)
        assert bool(await roles(plane)) == earlier
        assert await used_by(one, plane, "m2") == earlier
        assert (await ask(plane, "m1-again", "m1", LATER))[0] == "Approved"

    on_a_plane(scenario)


@pytest.mark.parametrize("earlier", [False, True], ids=["the first", "a later one"])
def test_a_registration_that_is_refused_when_its_token_was_to_be_spent_the_second_time_leaves_what_was_there(earlier):
    """Its roles are its own when it begins anew: they are not what was there."""

    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        if earlier:
            await ask(plane, "m1-first", "m1", KEY, client=one)
        fail, left = failing(is_spending)

        async def before(request):
            if not left and request.verb is Verb.CREATE and request.resource == objects.ROLES:
                plane.transport.before = None
                await plane.client.resource(objects.SECRETS).delete("bootstrap-token-ghijkl", "kube-system")
            await fail(request)

        plane.transport.before = before
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == "Denied"
        assert plane.transport.before is None
        assert await holder(plane, "m1") == (group("m1", KEY) if earlier else None)
        assert bool(await roles(plane)) == earlier

    on_a_plane(scenario)


def test_of_two_names_that_race_for_one_token_the_one_that_is_refused_leaves_no_roles():
    async def scenario(plane):
        await begin(plane)
        bearer = await bearer_of(plane, "abcdef")
        fail, left = failing(is_spending)

        async def before(request):
            await fail(request)
            if not left and request.resource == REVIEWS:
                plane.transport.before = None
                assert (await ask(plane, "m2", "m2", client=bearer))[0] == "Approved"

        plane.transport.before = before
        assert "was used by m2" in (await ask(plane, "m1", "m1", client=bearer, wait=30))[1]
        assert await holder(plane, "m1") is None
        assert await roles(plane) == []
        assert await holder(plane, "m2") == group("m2", KEY)

    on_a_plane(scenario)


@pytest.mark.parametrize("decided", ["Approved", "Denied"])
def test_who_is_settled_is_approved_unless_the_name_is_taken(decided):
    """The token is spent then: its end is no reason to refuse what it was spent for."""

    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        await ask(plane, "m1-first", "m1", KEY, client=one)
        fail, left = failing(lambda request: request.verb is Verb.UPDATE and request.resource == REQUESTS)

        async def before(request):
            try:
                await fail(request)
            finally:
                if not left:
                    plane.transport.before = None
                    await plane.client.resource(objects.SECRETS).delete("bootstrap-token-ghijkl", "kube-system")
                    if decided == "Denied":
                        made = objects.secret("m1", "karmada-cluster", {"token": b"t"})
                        await plane.client.resource(objects.SECRETS).create(made)

        plane.transport.before = before
        assert (await ask(plane, "m1-later", "m1", LATER, client=other))[0] == decided
        assert await holder(plane, "m1") == (group("m1", LATER) if decided == "Approved" else None)

    on_a_plane(scenario)


def test_a_registration_that_was_withdrawn_has_no_roles_when_the_one_that_replaced_it_is_refused():
    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        await ask(plane, "m1-first", "m1", KEY, client=one)
        fail, left = failing(is_spending)

        async def before(request):
            if not left and request.resource == REVIEWS:
                plane.transport.before = None
                await plane.client.resource(REQUESTS).delete("m1-first")
                await plane.clock.sleep(20)
                await plane.client.resource(objects.SECRETS).delete("bootstrap-token-ghijkl", "kube-system")
            await fail(request)

        plane.transport.before = before
        assert (await ask(plane, "m1-later", "m1", LATER, client=other, wait=30))[0] == "Denied"
        assert plane.transport.before is None
        assert await holder(plane, "m1") is None
        assert (await ask(plane, "m1-again", "m1", LATER, client=one))[0] == "Approved"

    on_a_plane(scenario)


def test_a_registration_goes_on_when_one_that_came_between_its_attempts_is_refused():
    """It had spent its token, but its record was not settled: the record that is restored is not its own."""

    async def scenario(plane):
        await begin(plane)
        one, other = await bearer_of(plane, "abcdef"), await bearer_of(plane, "ghijkl")
        settles = after(1, lambda request: request.resource == objects.CLUSTER_ROLE_BINDINGS and is_write(request))
        fail, left = failing(settles)

        async def deleting(request):
            if is_spending(request) and request.name == "bootstrap-token-ghijkl":
                plane.transport.before = None
                await plane.client.resource(objects.SECRETS).delete(request.name, "kube-system")
                raise Unavailable("try again")

        async def before(request):
            await fail(request)
            if not left and request.resource == REVIEWS:
                plane.transport.before = deleting
                assert (await ask(plane, "m1-between", "m1", LATER, client=other))[0] == "Denied"

        plane.transport.before = before
        assert (await ask(plane, "m1-first", "m1", KEY, client=one, wait=50))[0] == "Approved"
        assert await holder(plane, "m1") == group("m1", KEY)

    on_a_plane(scenario)
