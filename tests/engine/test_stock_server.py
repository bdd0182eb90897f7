"""Every component a process, beside an API server that knows nothing of Karmada."""

from pathlib import Path

import pytest

from karmada.machinery.errors import ApiError

from .test_components import arrived
from .world import DEPLOYMENTS, POLICIES, POLICY, QUICK, Engine, deployment, eventually


async def test_the_whole_control_plane_runs_beside_a_stock_api_server(tmp_path: Path) -> None:
    async with Engine(tmp_path, stock=True) as engine:
        for name in ("member1", "member2"):
            await engine.add_member(name)
        await engine.start("controller_manager", *QUICK)
        await engine.start("scheduler")
        await engine.ready()

        wrong = {**POLICY, "spec": {**POLICY["spec"], "placement": {"spreadConstraints": [{"maxGroups": -1}]}}}
        with pytest.raises(ApiError, match=r'webhook "propagationpolicy\.karmada\.io" denied the request'):
            await engine.hub.resource(POLICIES).create(wrong)
        policy = await engine.hub.resource(POLICIES).create(POLICY)
        assert "propagationpolicy.karmada.io/permanent-id" in policy["metadata"]["labels"]

        await engine.hub.resource(DEPLOYMENTS).create(deployment("nginx"))
        await eventually(lambda: arrived(engine, "nginx"))
