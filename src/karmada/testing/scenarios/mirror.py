"""Create, update, delete, crash: two controllers and a user share objects.

- The *user* creates, counts up and deletes ConfigMaps in namespace `source`.
- The *mirror* keeps a copy of each in namespace `target` and holds a finalizer on the source until its copy is gone.
- The *auditor* holds a finalizer of its own on the same objects.

Rules, after every committed change: no user's update is undone; nobody removes the auditor's finalizer but the auditor;
a copy goes only when its source goes; a source goes only after its copy. In the end, sources and copies agree.
"""

import copy as copying
from collections.abc import Callable, Sequence

from karmada.machinery.codec import Identity
from karmada.machinery.committer import Absent, Committer
from karmada.machinery.controller import DONE, Controller, RequeueAfter, Result, Retry
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.informers.cache import Change
from karmada.machinery.informers.factory import InformerFactory
from karmada.machinery.informers.informer import Informer
from karmada.machinery.resource import Resource, Scope
from karmada.machinery.supervisor import Supervisor
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.testing.world import Component, Scenario, Step, Surroundings, World

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
MIRROR = "example.dev/mirror"
AUDIT = "example.dev/audit"
FROM = "mirrored-from"
NAMES = ("red", "green", "blue")
OPERATIONS = 14


def uid(tree: JSONObject) -> str:
    """The uid of an object."""
    return str(tree["metadata"]["uid"])


def source_of(copy: JSONObject) -> str:
    """The uid of the source a copy was made of."""
    return str((copy["metadata"].get("labels") or {}).get(FROM, ""))


def deleting(tree: JSONObject) -> bool:
    """Whether deletion was asked for."""
    return "deletionTimestamp" in tree["metadata"]


def finalizers(tree: JSONObject) -> list[str]:
    """Who must still do something before the object goes."""
    return list(tree["metadata"].get("finalizers") or [])


def with_finalizer(name: str, held: bool) -> Callable[[JSONObject], JSONObject]:
    """The decision to hold a finalizer or not; one that is being deleted gets none."""

    def decide(tree: JSONObject) -> JSONObject:
        present = finalizers(tree)
        if held == (name in present) or (held and deleting(tree)):
            return tree
        tree = copying.deepcopy(tree)
        tree["metadata"]["finalizers"] = [*present, name] if held else [each for each in present if each != name]
        return tree

    return decide


def by_name(change: Change[JSONObject]) -> Sequence[str]:
    """Sources and copies have the same name, which is the key."""
    return (change.key.name,)


class Mirror:
    """The controller under test. Its steps are methods so that tests can plant bugs in them."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings
        self.resource: Resource[JSONObject] = surroundings.client.resource(CONFIG_MAPS)
        self.committer = Committer(self.resource)
        self.sources: Informer[JSONObject]
        self.copies: Informer[JSONObject]

    async def run(self) -> None:
        """Follow sources and copies and reconcile them by name."""
        around = self.around
        async with Supervisor(around.clock, around.random) as supervisor:
            factory = InformerFactory(around.client, supervisor, clock=around.clock, random=around.random)
            self.sources = factory.resource(CONFIG_MAPS, Scope("source"))
            self.copies = factory.resource(CONFIG_MAPS, Scope("target"))
            controller = self.controller()
            controller.watch(self.sources, by_name)
            controller.watch(self.copies, by_name)
            supervisor.start("mirror", controller.run, restart=False)
            await supervisor.wait()

    def controller(self) -> Controller[str]:
        """The reconcile loop; it starts when both caches have synced."""
        return Controller(
            "mirror",
            self.reconcile,
            workers=2,
            needs=[self.sources, self.copies],
            clock=self.around.clock,
            random=self.around.random,
        )

    async def reconcile(self, name: str) -> Result:
        """Bring one source and its copy together."""
        source = self.sources.get(name, "source")
        copy = self.copies.get(name, "target")
        if source is None:
            return DONE if copy is None else await self.remove_orphan(copy)
        if deleting(source):
            return await self.finish(source)
        return await self.keep(source, copy)

    async def keep(self, source: JSONObject, copy: JSONObject | None) -> Result:
        """Hold the source, then make the copy like it."""
        held = await self.hold(source)
        if held is None or deleting(held):
            return Retry("the source is going")
        if copy is not None and source_of(copy) != uid(held):
            await self.remove_orphan(copy)
            return Retry("an older copy is in the way")
        if copy is None:
            # The cache may be old; a copy is made only of a source that is there now and held.
            held = await self.resource.get(held["metadata"]["name"], "source")
            if deleting(held) or MIRROR not in finalizers(held):
                return Retry("the source is going")
        await self.committer.ensure(held["metadata"]["name"], "target", lambda seen: copied(held, seen), copy)
        return DONE

    async def hold(self, source: JSONObject) -> JSONObject | None:
        """Put the finalizer on a source; the source as it is then."""
        outcome = await self.committer.commit(source, with_finalizer(MIRROR, True))
        return None if isinstance(outcome, Absent) else outcome.value

    async def finish(self, source: JSONObject) -> Result:
        """Remove the copy of a source that goes, then let it go."""
        if MIRROR in finalizers(source):
            await self.remove_copy(source)
            await self.committer.commit(source, with_finalizer(MIRROR, False))
        return DONE

    async def remove_copy(self, source: JSONObject) -> None:
        """Remove the copy of a source, whatever the cache says."""
        try:
            present = await self.resource.get(source["metadata"]["name"], "target")
            if source_of(present) == uid(source):
                await self.resource.delete(present["metadata"]["name"], "target", only_if=Identity(uid=uid(present)))
        except NotFound:
            return

    async def remove_orphan(self, copy: JSONObject) -> Result:
        """Remove a copy whose source is gone; that it is not in the cache proves nothing."""
        try:
            source = await self.resource.get(copy["metadata"]["name"], "source")
        except NotFound:
            source = None
        if source is not None and uid(source) == source_of(copy):
            return Retry("the source is there after all")
        await self.committer.remove(copy, lambda present: source_of(present) == source_of(copy))
        return DONE


def copied(source: JSONObject, seen: JSONObject | None) -> JSONObject | None:
    """The copy as it should be; None to leave somebody else's object alone."""
    if seen is not None and source_of(seen) != uid(source):
        return None
    if seen is not None:
        return seen | {"data": source["data"]}
    metadata = {"name": source["metadata"]["name"], "namespace": "target", "labels": {FROM: uid(source)}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": source["data"]}


class Auditor:
    """Another controller with a finalizer on the same objects."""

    def __init__(self, surroundings: Surroundings, released: set[str]) -> None:
        self._around = surroundings
        self._committer = Committer(surroundings.client.resource(CONFIG_MAPS))
        self._released = released
        self._sources: Informer[JSONObject]

    async def run(self) -> None:
        """Follow sources."""
        clock, random = self._around.clock, self._around.random
        async with Supervisor(clock, random) as supervisor:
            factory = InformerFactory(self._around.client, supervisor, clock=clock, random=random)
            self._sources = factory.resource(CONFIG_MAPS, Scope("source"))
            controller = Controller(
                "auditor", self._reconcile, workers=1, needs=[self._sources], clock=clock, random=random
            )
            controller.watch(self._sources, by_name)
            supervisor.start("auditor", controller.run, restart=False)
            await supervisor.wait()

    async def _reconcile(self, name: str) -> Result:
        source = self._sources.get(name, "source")
        if source is None:
            return DONE
        if not deleting(source):
            await self._committer.commit(source, with_finalizer(AUDIT, True))
            return DONE
        if AUDIT in finalizers(source) and uid(source) not in self._released:
            self._released.add(uid(source))
            return RequeueAfter(1.0)
        await self._committer.commit(source, with_finalizer(AUDIT, False))
        return DONE


class User:
    """Changes sources by their names, as a person with kubectl would."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._sources = world.client("user").resource(CONFIG_MAPS)

    async def act(self) -> None:
        """Do one thing to one source."""
        random = self._world.random
        name = random.choice(NAMES)
        present = self._world.object(CONFIG_MAPS, name, "source")
        try:
            if present is None:
                metadata = {"name": name, "namespace": "source"}
                await self._sources.create({"metadata": metadata, "data": {"count": "0"}})
            elif random.random() < 0.3:
                await self._sources.delete(name, "source")
            else:
                await Committer(self._sources).commit(present, counted_up)
        except ApiError:
            return


def counted_up(source: JSONObject) -> JSONObject:
    """The source with its count raised by one."""
    return source | {"data": {"count": str(int(source["data"]["count"]) + 1)}}


class Rules:
    """What must hold after every change."""

    def __init__(self, world: World, released: set[str]) -> None:
        self._world = world
        self._released = released
        world.check("no update of the user is undone", self.counts_only_grow)
        world.check("nobody removes another's finalizer", self.audit_stays)
        world.check("a copy goes only when its source goes", self.copies_stay)
        world.check("a source goes only after its copy", self.copies_go_first)

    def counts_only_grow(self, step: Step) -> str | None:
        """The user only counts up."""
        if not _is(step, "source") or step.previous is None or step.type is EventType.DELETED:
            return None
        before, after = step.previous["data"]["count"], step.object["data"]["count"]
        return f"{_name(step)} went from {before} to {after}" if int(after) < int(before) else None

    def audit_stays(self, step: Step) -> str | None:
        """Only the auditor removes its finalizer."""
        if not _is(step, "source") or step.previous is None or uid(step.object) in self._released:
            return None
        lost = AUDIT in finalizers(step.previous) and AUDIT not in finalizers(step.object)
        return f"{_name(step)} lost {AUDIT}" if lost else None

    def copies_stay(self, step: Step) -> str | None:
        """No copy of a living source is deleted."""
        if not _is(step, "target") or step.type is not EventType.DELETED:
            return None
        source = self._world.object(CONFIG_MAPS, _name(step), "source")
        alive = source is not None and uid(source) == source_of(step.object) and not deleting(source)
        return f"the copy of {_name(step)} was deleted" if alive else None

    def copies_go_first(self, step: Step) -> str | None:
        """No copy exists without its source."""
        if _is(step, "source") and step.type is EventType.DELETED:
            left = self._world.object(CONFIG_MAPS, _name(step), "target")
            return f"{_name(step)} is gone, its copy is not" if left and source_of(left) == uid(step.object) else None
        if _is(step, "target") and step.type is not EventType.DELETED:
            source = self._world.object(CONFIG_MAPS, _name(step), "source")
            if source is None or uid(source) != source_of(step.object):
                return f"there is a copy of {_name(step)}, which is gone"
        return None

    def agreed(self) -> str | None:
        """Whether sources and copies agree, nothing hangs in deletion and every finalizer is in place."""
        sources = {tree["metadata"]["name"]: tree for tree in self._world.objects(CONFIG_MAPS, "source")}
        copies = {tree["metadata"]["name"]: tree for tree in self._world.objects(CONFIG_MAPS, "target")}
        sources.pop("kube-root-ca.crt", None)
        copies.pop("kube-root-ca.crt", None)
        for name, source in sources.items():
            if deleting(source):
                return f"{name} hangs in deletion with {finalizers(source)}"
            if sorted(finalizers(source)) != [AUDIT, MIRROR]:
                return f"{name} has finalizers {finalizers(source)}"
            if name not in copies or copies[name]["data"] != source["data"]:
                return f"the copy of {name} is {copies.get(name, {}).get('data')}, not {source['data']}"
        extra = copies.keys() - sources.keys()
        return f"copies without source: {sorted(extra)}" if extra else None


def _is(step: Step, namespace: str) -> bool:
    metadata = step.object["metadata"]
    return (
        step.kind == ("", "configmaps")
        and metadata.get("namespace") == namespace
        and metadata["name"] != "kube-root-ca.crt"
    )


def _name(step: Step) -> str:
    return str(step.object["metadata"]["name"])


def scenario(mirror: Callable[[Surroundings], Mirror] = Mirror) -> Scenario:
    """The whole story, with the mirror given."""

    async def live(world: World) -> None:
        namespaces = world.client().resource(NAMESPACES)
        for name in ("source", "target"):
            await namespaces.create({"metadata": {"name": name}})
        released: set[str] = set()
        rules = Rules(world, released)
        user = User(world)
        world.start(Component("mirror", lambda around: mirror(around).run()))
        world.start(Component("auditor", lambda around: Auditor(around, released).run()))

        async def use() -> None:
            for _ in range(OPERATIONS):
                await world.clock.sleep(world.random.random() ** 2 * 6)
                await user.act()

        using = world.background(use())
        await world.storm(30)
        await using
        await world.calm(200)
        problem = rules.agreed()
        if problem:
            world.fail("in the end sources and copies agree", problem)

    return live
