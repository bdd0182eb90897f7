"""What becomes of a Work in its member: what is written there, said about it, and tried again."""

import asyncio

import pytest
from tests.controllers.executing import SPACE, Watched, begin, condition, edit, executing, manifest, said, work, works
from tests.controllers.observing import events
from tests.controllers.plane import CLUSTERS, CONFIG_MAPS, NAMESPACES, WORKS, on_a_plane, server

from karmada.machinery.controller import MANY
from karmada.machinery.errors import Conflict, Invalid
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import Verb

FINALIZER = "karmada.io/execution-controller"


def test_an_object_is_created_updated_and_left_alone_when_nothing_changed():
    async def scenario(plane, member, controller):
        await work(plane)
        assert (await works(plane))[0]["metadata"]["finalizers"] == [FINALIZER]
        text = "Successfully applied resource(default/settings) to cluster m1"
        assert await said(plane, "SyncSucceed") == [(text, 1)]
        await edit(plane, manifest(value="2"))
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "2"}
        assert await said(plane, "SyncSucceed") == [(text, 2)]
        await plane.condition("m1", "Ready", "False")
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(5)
        assert member.written == [Verb.CREATE, Verb.UPDATE]
        assert await said(plane, "SyncSucceed") == [(text, 2)]
        metrics, labels = plane.context.metrics, ("success", "v1", "ConfigMap", "m1")
        assert (dict(metrics.created), dict(metrics.updated)) == ({labels: 1}, {labels: 1})
        assert set(metrics.sync_workload.by) == {("success",)}
        assert sum(metrics.sync_workload.by["success",].counts) == 3
        assert controller.queue.adds == 3
        assert member.read == 1, "who waits for the first object does not wait for all of them to be loaded"

    executing(scenario)


def test_an_object_that_is_there_already_is_reported_as_applied():
    async def scenario(plane, member, controller):
        await member.objects.create(manifest())
        await work(plane)
        assert member.written == []
        assert len(await said(plane, "SyncSucceed")) == 1
        assert (await condition(plane))[0] == "True"
        await member.objects.patch("settings", {"data": {"a": "3"}}, "default")
        await plane.clock.sleep(5)
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "1"}

    executing(scenario)


@pytest.mark.parametrize("edited", [False, True], ids=["as created", "as updated"])
def test_what_a_member_changes_is_corrected(edited):
    async def scenario(plane, member, controller):
        await work(plane)
        if edited:
            await edit(plane, manifest(value="2"))
        await member.objects.patch("settings", {"data": {"a": "3"}}, "default")
        await plane.clock.sleep(5)
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "2" if edited else "1"}
        await member.objects.delete("settings", "default")
        await plane.clock.sleep(5)
        assert await member.objects.get("settings", "default")

    executing(scenario)


@pytest.mark.parametrize("name", [None, "another"], ids=["removed", "another's"])
def test_what_a_member_changes_together_with_the_name_of_its_work_is_corrected(name):
    async def scenario(plane, member, controller):
        await work(plane)
        noted = {"work.karmada.io/name": name}
        await member.objects.patch("settings", {"metadata": {"annotations": noted}, "data": {"a": "3"}}, "default")
        await plane.clock.sleep(5)
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "1"}

    executing(scenario)


def test_every_manifest_is_applied_whatever_becomes_of_the_others():
    async def scenario(plane, member, controller):
        async def refuse(request):
            if b"refused" in request.body:
                raise Invalid("not like this")

        member.before = refuse
        await work(plane, manifest("first"), manifest("refused"), manifest("third"))
        assert await member.objects.get("first", "default")
        assert await member.objects.get("third", "default")
        assert await condition(plane) == ("False", "Failed to apply all manifests (2/3): not like this")
        text = "Failed to create or update resource(default/refused) in member cluster(m1): not like this"
        ((message, _),) = await said(plane, "SyncFailed")
        assert message == text
        metrics = plane.context.metrics
        failed = sum(metrics.sync_workload.by["error",].counts)
        assert failed > 1, "it is tried again"
        assert metrics.updated["error", "v1", "ConfigMap", "m1"] == failed
        member.before = None
        await plane.clock.sleep(60)
        assert (await condition(plane))[0] == "True"

    executing(scenario)


def test_a_member_that_is_unavailable_is_tried_again_for_writing_and_removing():
    async def scenario(plane, member, controller):
        member.unavailable = True
        await work(plane)
        assert controller.results["error"] > 0
        member.unavailable = False
        await plane.clock.sleep(60)
        assert await member.objects.get("settings", "default")
        member.unavailable = True
        await plane.client.resource(WORKS).delete("settings", SPACE)
        await plane.clock.sleep(5)
        assert await works(plane)
        member.unavailable = False
        await plane.clock.sleep(60)
        assert await works(plane) == []
        assert member.written == [Verb.CREATE, Verb.DELETE]

    executing(scenario)


def test_a_work_that_is_suspended_or_of_a_cluster_that_is_not_ready_or_of_others_waits():
    async def scenario(plane, member, controller):
        await work(plane, suspendDispatching=True)
        assert await condition(plane, "Dispatching") == ("False", "Work dispatching is in a suspended state.")
        await plane.condition("m1", "Ready", "False")
        await plane.clock.sleep(5)
        await edit(plane, suspendDispatching=False)
        assert member.written == []
        member.concerned = False
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(5)
        assert member.written == []
        assert FINALIZER not in (await works(plane))[0]["metadata"].get("finalizers", ())
        member.concerned = True
        await edit(plane, manifest(value="2"))
        assert member.written == [Verb.CREATE]
        assert controller.errors == 0

    executing(scenario)


def test_an_object_of_somebody_else_is_not_touched_unless_the_policy_says_so():
    async def scenario(plane, member, controller):
        theirs = manifest(value="theirs")
        del theirs["metadata"]["labels"], theirs["metadata"]["annotations"]
        theirs["metadata"]["finalizers"] = ["example.io/theirs"]
        await member.objects.create(theirs)
        await work(plane)
        status, message = await condition(plane)
        assert status == "False"
        assert "already exists in the cluster m1" in message
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "theirs"}
        await edit(plane, manifest(**{"work.karmada.io/conflict-resolution": "overwrite"}))
        found = await member.objects.get("settings", "default")
        assert (found["data"], found["metadata"]["finalizers"]) == ({"a": "1"}, ["example.io/theirs"])

    executing(scenario)


def test_an_object_that_others_keep_changing_is_tried_four_times_before_the_work_says_so():
    async def scenario(plane, member, controller):
        async def change(request):
            if request.verb is Verb.UPDATE:
                raise Conflict("somebody else was first")

        async def report(request):
            if request.verb is Verb.PATCH and request.subresource == "status" and not before:
                before.extend(member.written)

        before = []
        await work(plane)
        member.before, plane.transport.before = change, report
        await edit(plane, manifest(value="2"))
        assert before == [Verb.CREATE, *[Verb.UPDATE] * 4]
        assert "somebody else was first" in (await condition(plane))[1]

    executing(scenario)


def test_an_object_that_goes_unseen_meanwhile_is_created_again():
    async def scenario(plane, member, controller):
        await work(plane)
        member.transport.held = {CONFIG_MAPS}
        await member.objects.delete("settings", "default")
        await edit(plane, manifest(value="2"))
        assert (await member.objects.get("settings", "default"))["data"] == {"a": "2"}
        assert controller.errors == 0
        member.transport.held = frozenset()

    executing(scenario)


def test_a_work_that_is_long_gone_takes_nothing_from_its_successor():
    async def scenario(plane, member, controller):
        await work(plane)
        plane.transport.held = {WORKS}
        mine, theirs = plane.client.resource(WORKS), {"work.karmada.io/permanent-id": "another"}
        await mine.patch("settings", {"metadata": {"finalizers": None}}, SPACE)
        await mine.delete("settings", SPACE)
        await work(plane, suspendDispatching=True)
        await mine.patch("settings", {"metadata": {"labels": theirs}}, SPACE)
        await member.objects.patch("settings", {"metadata": {"labels": theirs}, "data": {"a": "2"}}, "default")
        await plane.clock.sleep(5)
        found = await member.objects.get("settings", "default")
        assert (found["metadata"]["labels"] | theirs, found["data"]) == (found["metadata"]["labels"], {"a": "2"})
        assert member.written == [Verb.CREATE]
        plane.transport.held = frozenset()

    executing(scenario)


def test_an_object_without_its_namespace_is_tried_once_each_time():
    async def scenario(plane, member, controller):
        elsewhere = manifest()
        elsewhere["metadata"]["namespace"] = "elsewhere"
        await work(plane, elsewhere)
        assert 'namespaces "elsewhere" not found' in (await condition(plane))[1]
        assert len(member.written) == controller.results["error"]
        await member.client.resource(NAMESPACES).create({"metadata": {"name": "elsewhere"}})
        await plane.clock.sleep(60)
        assert await member.objects.get("settings", "elsewhere")

    executing(scenario)


def test_a_work_that_others_hold_takes_its_object_along_once():
    async def scenario(plane, member, controller):
        await work(plane, finalizers=["example.io/held"])
        await plane.client.resource(WORKS).delete("settings", SPACE)
        await plane.clock.sleep(5)
        assert (await works(plane))[0]["metadata"]["finalizers"] == ["example.io/held"]
        assert member.written == [Verb.CREATE, Verb.DELETE]
        await member.objects.create(manifest())
        await plane.client.resource(WORKS).patch("settings", {"metadata": {"labels": {"a": "b"}}}, SPACE)
        await plane.condition("m1", "Ready", "False")
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(5)
        assert await member.objects.get("settings", "default"), "the Work let go of it"

    executing(scenario)


@pytest.mark.parametrize("leaving", [False, True], ids=["not ready", "leaving"])
def test_the_work_of_a_cluster_that_is_not_ready_goes_with_the_cluster(leaving):
    async def scenario(plane, member, controller):
        await work(plane)
        await plane.condition("m1", "Ready", "False")
        await plane.client.resource(WORKS).delete("settings", SPACE)
        if leaving:
            await plane.client.resource(CLUSTERS).delete("m1")
        await plane.clock.sleep(30)
        assert len(await works(plane)) == (0 if leaving else 1)
        assert member.written == [Verb.CREATE]
        if not leaving:
            await plane.condition("m1", "Ready", "True")
            await plane.clock.sleep(5)
            assert (await works(plane), member.written) == ([], [Verb.CREATE, Verb.DELETE])

    executing(scenario)


def test_a_restart_looks_at_every_work_once():
    async def scenario(plane):
        async with server(plane.clock) as hosting:
            member = Watched(hosting, plane.clock)
            await plane.cluster("m1")
            async with Supervisor(plane.clock) as first:
                plane.begin(first)
                begin(plane, member)
                await work(plane)
            await member.connection.close()
            member = Watched(hosting, plane.clock)
            async with Supervisor(plane.clock) as second:
                plane.begin(second)
                controller = begin(plane, member)
                await plane.clock.sleep(5)
                assert (controller.queue.adds, member.written, member.read) == (1, [], 0)
                assert (await condition(plane))[0] == "True"
            await member.connection.close()

    on_a_plane(scenario)


def test_a_work_that_is_gone_is_neither_brought_anywhere_nor_reported():
    async def scenario(plane, member, controller):
        await plane.condition("m1", "Ready", "False")
        await plane.clock.sleep(2)
        await work(plane, finalizers=[FINALIZER])
        plane.transport.held = {WORKS}
        await plane.client.resource(WORKS).patch("settings", {"metadata": {"finalizers": None}}, SPACE)
        await plane.client.resource(WORKS).delete("settings", SPACE)
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(10)
        assert (member.written, controller.errors) == ([], 0)
        assert await events(plane) == set()
        plane.transport.held = frozenset()

    executing(scenario)


def test_works_of_a_cluster_that_is_back_are_enqueued_with_turns_for_others_in_between():
    async def test(plane, member, controller):
        await plane.condition("m1", "Ready", "False")
        for number in range(3 * MANY):
            metadata = {"name": f"w{number}", "namespace": SPACE}
            await plane.client.resource(WORKS).create({"metadata": metadata, "spec": {"workload": {"manifests": []}}})
        await plane.clock.sleep(5)
        await plane.condition("m1", "Ready", "True")
        before, added = controller.queue.adds, []
        while controller.queue.adds < before + 3 * MANY:
            await asyncio.sleep(0)
            added.append(controller.queue.adds)
        assert max(after - known for known, after in zip([before, *added], added, strict=False)) == MANY

    executing(test)


def test_works_of_a_cluster_that_has_an_agent_are_not_looked_at_whenever_it_says_that_it_is_ready():
    async def test(plane, member, controller):
        member.concerned = False
        await work(plane)
        looks = controller.queue.adds
        for _ in range(5):
            await plane.condition("m1", "Ready", "False")
            await plane.clock.sleep(1)
            await plane.condition("m1", "Ready", "True")
            await plane.clock.sleep(1)
        assert controller.queue.adds == looks
        member.concerned = True
        await plane.condition("m1", "Ready", "False")
        await plane.condition("m1", "Ready", "True")
        await plane.clock.sleep(1)
        assert member.written == [Verb.CREATE]

    executing(test)
