"""What the control plane says about a cluster, while others say something about it too."""

from tests.controllers.plane import CLUSTERS, OneMember, on_a_plane, server

from karmada.controllers.cluster_monitor import ClusterMonitor, MonitorOptions
from karmada.controllers.cluster_status import ClusterStatusController, StatusOptions
from karmada.machinery.errors import Unavailable
from karmada.machinery.transport import Verb


def is_status(request):
    return request.verb is Verb.PATCH and request.resource == CLUSTERS and request.subresource == "status"


def once(act):
    """Something to do before the first status that a controller writes."""
    done = []

    async def before(request):
        if is_status(request) and not done:
            done.append(request)
            await act()

    return before


def test_a_condition_that_somebody_else_sets_while_a_member_is_asked_stays():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1", ready="False")
            plane.transport.before = once(lambda: plane.condition("m1", "NetworkReady", "False"))
            options = StatusOptions(success_threshold=0.0, failure_threshold=0.0)
            plane.start(ClusterStatusController(plane.context, members, options).controller)
            await plane.clock.sleep(5)
            found = await plane.conditions("m1")
            assert found == {"Ready": "True", "NetworkReady": "False", "CompleteAPIEnablements": "True"}
            status = (await plane.client.resource(CLUSTERS).get("m1"))["status"]
            assert status["kubernetesVersion"]
            assert status["apiEnablements"]
            await members.connection.close()

    on_a_plane(scenario)


def test_conditions_keep_their_places():
    async def scenario(plane):
        async with server(plane.clock) as one:
            members = OneMember(one, plane.clock)
            await plane.cluster("m1", ready="False")
            await plane.condition("m1", "CompleteAPIEnablements", "False")
            await plane.condition("m1", "Ready", "False")
            options = StatusOptions(success_threshold=0.0, failure_threshold=0.0)
            plane.start(ClusterStatusController(plane.context, members, options).controller)
            await plane.clock.sleep(5)
            assert list((await plane.conditions("m1")).items()) == [
                ("CompleteAPIEnablements", "True"),
                ("Ready", "True"),
            ]
            await members.connection.close()

    on_a_plane(scenario)


def test_an_agent_that_speaks_up_while_it_is_given_up_counts_as_alive():
    async def scenario(plane):
        await plane.cluster("m1", mode="Pull")
        plane.start(ClusterMonitor(plane.context, MonitorOptions(period=5.0, grace=40.0)).controller)
        await plane.clock.sleep(39)
        plane.transport.before = once(lambda: plane.condition("m1", "Ready", "True", "here I am"))
        await plane.clock.sleep(10)
        assert await plane.conditions("m1") == {"Ready": "True"}
        await plane.clock.sleep(60)
        assert await plane.conditions("m1") == {"Ready": "Unknown"}

    on_a_plane(scenario)


def test_a_silent_agent_is_given_up_soon_after_the_api_server_is_back():
    async def refuse(request):
        if is_status(request):
            raise Unavailable("away")

    async def scenario(plane):
        await plane.cluster("m1", mode="Pull")
        plane.start(ClusterMonitor(plane.context, MonitorOptions(period=5.0, grace=40.0)).controller)
        plane.transport.before = refuse
        await plane.clock.sleep(900)
        assert await plane.conditions("m1") == {"Ready": "True"}
        plane.transport.before = None
        await plane.clock.sleep(10)
        assert await plane.conditions("m1") == {"Ready": "Unknown"}

    on_a_plane(scenario)
