"""What `check` makes of facts."""

from karmada.explain.check.findings import Finding, leases


def lease(**spec: object) -> dict[str, object]:
    return {"metadata": {"name": "karmada-scheduler"}, "spec": {"renewTime": 100.0} | spec}


def test_a_component_is_led_by_a_name_or_has_no_leader() -> None:
    led, vacant, released = (
        leases([item], 110.0, lambda when: when)[0]
        for item in (lease(holderIdentity="host_1"), lease(), lease(holderIdentity=""))
    )
    assert led == Finding("karmada-scheduler", "is led by host_1")
    assert vacant == released
    assert (vacant.state, vacant.said) == ("warning", "has no leader: the last one gave up its lease 10 s ago")
