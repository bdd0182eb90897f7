"""What objects leave in memory that came and went: nothing, or something with a bound.

Every dictionary, list, set and queue that an object of ours, a function or a module holds on to is counted before and
after cycles of work with fresh names, when an hour has passed and events have expired. One that has an entry or more
for each cycle must be in `BOUNDED`. A cache of functools needs a bound of its own.
"""

import asyncio
import contextlib
import functools
import gc
import sys
from collections import Counter, deque
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from karmada.machinery.errors import NotFound
from karmada.machinery.options import Options
from karmada.machinery.resource import Scope
from karmada.machinery.transport import GroupVersionResource
from karmada.standalone.control_plane import ControlPlaneOptions
from karmada.testing.federation import Federation
from karmada.testing.loop import VirtualClock, run_virtual

WARM, CYCLES, COUNT = 2, 3, 8
SETTLED, HOUR = 60.0, 4000.0
"""Virtual seconds: of a start, and until the last event of a cycle has expired."""
MOST = 16_384
"""Entries of a cache."""
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
POLICIES = GroupVersionResource("policy.karmada.io", "v1alpha1", "propagationpolicies")
OVERRIDES = GroupVersionResource("policy.karmada.io", "v1alpha1", "overridepolicies")
BINDINGS = GroupVersionResource("work.karmada.io", "v1alpha2", "resourcebindings")
WORKS = GroupVersionResource("work.karmada.io", "v1alpha1", "works")
BOUNDED = {
    "karmada.apiserver.admission.model.AdmissionChain._concerned": "SCOPES",
    "karmada.apiserver.auth.rbac.RbacAuthorizer._of_any_name": "CACHE_SIZE",
    "karmada.apiserver.watchcache.history.History._events": "Bounds",
    "karmada.apiserver.watchcache.history.History._order": "Bounds",
    "karmada.apiserver.watchcache.maintenance.Maintenance._marks": "five periods",
    "karmada.controllers.created_works.CreatedWorks._until": "FRESH seconds before the last of them",
    "karmada.controllers.write_rate.Pace._works": "REMEMBERED",
    "karmada.machinery.codec.Codec.kept": "KEPT of a kind",
    "karmada.machinery.codec.structs.recent": "RECENT of a kind",
    "karmada.machinery.committer.Committer._recent": "RECENT of a committer",
    "karmada.machinery.events._Recent._values": "REMEMBERED",
}
"""What keeps each from growing for ever."""
_CONTAINERS = (dict, set, list, deque)


def entries() -> Counter[str]:
    """How much everything holds, by what holds it."""
    gc.collect()
    found: Counter[str] = Counter()
    counted: set[int] = set()
    for name, container in _held():
        if isinstance(container, _CONTAINERS) and id(container) not in counted:
            counted.add(id(container))
            found[name] += _size(container)
    for cache in gc.get_objects():
        if isinstance(cache, functools._lru_cache_wrapper) and _is_ours(getattr(cache, "__module__", "")):
            state = cache.cache_info()
            if state.maxsize is None or state.maxsize > MOST:
                found[f"{cache.__module__}.{cache.__qualname__}"] += state.currsize
    return found


def _held() -> Iterator[tuple[str, Any]]:
    for name, module in list(sys.modules.items()):
        if _is_ours(name):
            yield from ((f"{name}.{key}", value) for key, value in list(vars(module).items()))
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__closure__ and _is_ours(one.__module__ or ""):
            place = f"{one.__module__}.{one.__code__.co_qualname.partition('.')[0]}"
            for key, cell in zip(one.__code__.co_freevars, one.__closure__, strict=True):
                yield f"{place}.{key}", _content(cell)
        elif _is_ours(type(one).__module__) and not isinstance(one, BaseException):  # logs of tests keep errors
            name = f"{type(one).__module__}.{type(one).__qualname__}"
            yield from ((f"{name}.{key}", value) for key, value in _attributes(one))


def _attributes(one: object) -> Iterator[tuple[str, Any]]:
    with contextlib.suppress(AttributeError):
        yield from list(object.__getattribute__(one, "__dict__").items())
    for kind in type(one).__mro__:
        slots = vars(kind).get("__slots__", ())
        for key in [slots] if isinstance(slots, str) else slots:
            if hasattr(kind, key):
                with contextlib.suppress(AttributeError):
                    yield key, object.__getattribute__(one, key)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _size(container: Any, depth: int = 2) -> int:
    """Its entries and those of what it holds directly."""
    inner = list(container.values() if isinstance(container, dict) else container) if depth else []
    return len(container) + sum(_size(one, depth - 1) for one in inner if isinstance(one, _CONTAINERS))


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and module.startswith("karmada.") and not module.startswith("karmada.testing.")


def _objects(space: str) -> Iterator[dict[str, Any]]:
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment"}, {"apiVersion": "v1", "kind": "ConfigMap"}]
    yield {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": f"policy-{space}", "namespace": space},
        "spec": {"resourceSelectors": selectors, "placement": {"clusterAffinity": {"clusterNames": ["member1"]}}},
    }
    added = {"labelsOverrider": [{"operator": "add", "value": {"space": space}}]}
    yield {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": {"name": f"override-{space}", "namespace": space},
        "spec": {"overrideRules": [{"overriders": added}]},
    }
    for number in range(COUNT):
        name = f"{space}-{number}"
        yield {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space}}
        template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": space},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template},
        }


async def _cycle(federation: Federation, space: str) -> None:
    """Objects with names of their own come, are seen working, and go."""
    hub, member = federation.hub, federation.members["member1"].client
    await federation.apply(*_objects(space))

    async def works() -> bool:
        bindings = (await hub.resource(BINDINGS).list(Scope(space))).items
        copies = (await member.resource(DEPLOYMENTS).list(Scope(space))).items
        reported = [one for one in bindings if "FullyApplied" in str(one.get("status"))]
        ready = [one for one in copies if (one.get("status") or {}).get("readyReplicas")]
        return (len(reported), len(ready)) == (2 * COUNT, COUNT)

    async def is_gone() -> bool:
        left = [await hub.resource(BINDINGS).list(Scope(space)), await member.resource(DEPLOYMENTS).list(Scope(space))]
        names = [one["metadata"]["name"] for one in (await hub.resource(WORKS).list()).items]
        copied = tuple(f"{space}-{number}-" for number in range(COUNT))
        return not any(listing.items for listing in left) and not any(name.startswith(copied) for name in names)

    async def has_ended() -> bool:
        for client in (hub, member):
            try:
                await client.resource(NAMESPACES).get(space)
            except NotFound:
                continue
            return False
        return True

    await federation.eventually(works)
    for type_ in (DEPLOYMENTS, CONFIG_MAPS, POLICIES, OVERRIDES):
        await hub.resource(type_).delete_collection(Scope(space))
    await federation.eventually(is_gone)
    await hub.resource(NAMESPACES).delete(space)
    await federation.eventually(has_ended)


def test_objects_that_came_and_went_leave_nothing_without_a_bound() -> None:
    async def main() -> None:
        options = ControlPlaneOptions(clock=VirtualClock(), options=Options())
        async with Federation(2, options=options) as federation:
            for number in range(WARM):
                await _cycle(federation, f"warm-{number}")
            await asyncio.sleep(SETTLED)
            before = entries()
            for number in range(CYCLES):
                await _cycle(federation, f"fresh-{number}")
            await asyncio.sleep(HOUR)
            after = entries()
        assert set(BOUNDED) <= set(after)
        grown = {name: size - before[name] for name, size in after.items() if name not in BOUNDED}
        assert {name: more for name, more in grown.items() if more >= CYCLES} == {}

    run_virtual(main)
