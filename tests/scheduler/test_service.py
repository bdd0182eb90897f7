"""The scheduler on a control plane: what clients see of its decisions."""

from tests.scheduler.plane import Plane, on_a_plane


def test_a_binding_is_scheduled_and_says_so() -> None:
    async def scenario(plane: Plane) -> None:
        await plane.join("member1")
        await plane.join("member2")
        await plane.bind("web")
        await plane.settle()
        assert await plane.result("web") == {"member1": 2, "member2": 2}
        binding = await plane.binding("web")
        assert binding["status"]["schedulerObservedGeneration"] == binding["metadata"]["generation"] == 2
        assert "lastScheduledTime" in binding["status"]
        assert binding["metadata"]["annotations"]["policy.karmada.io/applied-placement"] == "{}"
        condition = await plane.condition("web")
        assert (condition["status"], condition["reason"]) == ("True", "Success")
        text = "Binding has been scheduled successfully. Result: {member1:2, member2:2}"
        for kind in ("ResourceBinding", "Deployment"):
            assert await plane.events(kind, "web") == [("Normal", "ScheduleBindingSucceed", text)]

    on_a_plane(scenario)
