"""The propagation pipeline with all that moves: templates, placements, dependencies, drift, faults on every link.

- The *user* changes Deployments, the ConfigMap they depend on, and the policy: its clusters, its dependencies, and
  whether dispatching is suspended.
- *Members* have lives of their own: people there scale, annotate and delete copies, and member2 has a ConfigMap of its
  own under the very name of the dependency.

Rules, after every committed change: a Work goes only when its binding no longer names the cluster, a copy only when its
Work goes; what a member owns is never touched; a template's spec is the user's alone. Then: a member that cannot be
reached delays no other. In the end every member holds what templates and policy say, and nothing else that we manage.
"""

import contextlib
from collections.abc import Awaitable, Callable

from karmada.api import names
from karmada.machinery.errors import ApiError, NotFound
from karmada.machinery.transport import EventType, GroupVersionResource, JSONObject
from karmada.testing.scenarios.federation import (
    BINDINGS,
    DEPLOYMENTS,
    MANAGER,
    MEMBERS,
    NAMES,
    POLICIES,
    SCHEDULER,
    WEATHER,
    WORKS,
    deployment,
    install,
    run_manager,
    run_scheduler,
)
from karmada.testing.world import HUB, Component, Scenario, Step, Surroundings, World

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
DEPENDENCY = "settings"
OWNER = "member2"
"""The member that has a ConfigMap of its own by that name."""
NOTE = "example.io/note"
ACTIONS = 16
REACTION = 45.0
"""Virtual seconds in which a change reaches members that can be reached; a worker may wait for another's deadline."""
SETTLING = 200.0
"""Virtual seconds in which everything has to come right: clusters count as ready again, pauses between retries end."""
LAG = 40.0
"""Virtual seconds for which a cache may show what was: a partition, and the time to get over it."""
WORK_GOES, COPY_GOES = (
    "a Work goes only when its binding no longer names the cluster",
    "a copy goes only when its Work goes",
)
OWNED_STAYS = "what a member owns is never touched"
SPEC_IS_THE_USERS = "a template's spec is the user's alone"
NO_WAITING, AGREED = "a lost member delays no other", "in the end members hold what templates and policy say"
Manager = Callable[[Surroundings], Awaitable[None]]


class Users:
    """What users do, and what may be expected of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client = world.client("user")
        self.members = {name: world.client("local user", name) for name in MEMBERS}
        self.clusters = list(MEMBERS)
        self.with_dependencies = False
        self.suspended = False
        self.user_writes = False
        self.deleted_by_members: set[str] = set()
        self._noting = ""
        self._notes: dict[str, str] = {}
        """What people in members noted on copies, by uid."""
        self._listed: dict[tuple[str, str], float] = {}
        """Since when a binding lists a cluster, by its permanent id and the cluster."""

    async def act(self) -> None:
        """One thing that somebody does."""
        random = self.world.random
        do = random.choices(
            (self._change_template, self._change_policy, self._change_dependency, self._live_locally), (5, 3, 2, 2)
        )[0]
        with contextlib.suppress(ApiError):
            await do()

    async def _change_template(self) -> None:
        random, templates = self.world.random, self.client.resource(DEPLOYMENTS)
        name, replicas = random.choice(NAMES), random.randint(1, 5)
        present = self.world.object(DEPLOYMENTS, name, "default")
        self.user_writes = True
        try:
            if present is None:
                await templates.create(_needing_settings(deployment(name, replicas)))
            elif random.random() < 0.25:
                await templates.delete(name, "default")
            else:
                await templates.patch(name, {"spec": {"replicas": replicas}}, "default")
        finally:
            self.user_writes = False
        await self.world.clock.sleep(random.random())
        await self._note(random.choice(MEMBERS), name)

    async def _note(self, member: str, name: str) -> None:
        """Somebody in a member notes something on a copy, perhaps just while it is brought up to date."""
        self._noting = f"note {self.world.random.random()}"
        with contextlib.suppress(NotFound):
            patch = {"metadata": {"annotations": {NOTE: self._noting}}}
            await self.members[member].resource(DEPLOYMENTS).patch(name, patch, "default")

    async def _change_policy(self) -> None:
        random = self.world.random
        match random.choice(("clusters", "dependencies", "suspension")):
            case "clusters":
                self.clusters = sorted(random.sample(MEMBERS, random.randint(1, len(MEMBERS))))
            case "dependencies":
                self.with_dependencies = not self.with_dependencies
            case "suspension":
                self.suspended = not self.suspended
        await self.publish()

    async def publish(self) -> None:
        """Write the policy as it should be."""
        spec: JSONObject = {
            "placement": {"clusterAffinity": {"clusterNames": self.clusters}},
            "propagateDeps": self.with_dependencies,
            "suspension": {"dispatching": True} if self.suspended else None,
        }
        await self.client.resource(POLICIES).patch("all", {"spec": spec}, "default")

    async def _change_dependency(self) -> None:
        maps, value = self.client.resource(CONFIG_MAPS), str(self.world.random.randint(1, 9))
        present = self.world.object(CONFIG_MAPS, DEPENDENCY, "default")
        if present is None:
            await maps.create({"metadata": {"name": DEPENDENCY, "namespace": "default"}, "data": {"v": value}})
        elif self.world.random.random() < 0.3:
            await maps.delete(DEPENDENCY, "default")
        else:
            await maps.patch(DEPENDENCY, {"data": {"v": value}}, "default")

    async def _live_locally(self) -> None:
        random = self.world.random
        member, name = random.choice(MEMBERS), random.choice(NAMES)
        copy = self.world.object(DEPLOYMENTS, name, "default", member)
        copies = self.members[member].resource(DEPLOYMENTS)
        if copy is None:
            return
        if random.random() < 0.5:
            await copies.patch(name, {"spec": {"replicas": 99}}, "default")
        else:
            self.deleted_by_members.add(copy["metadata"]["uid"])
            with contextlib.suppress(NotFound):
                await copies.delete(name, "default")

    def works_stay(self, step: Step) -> str | None:
        """No Work is deleted whose binding has long listed the cluster and is not leaving itself."""
        if step.server != HUB:
            return None
        if step.kind == ("work.karmada.io", "resourcebindings"):
            self._note_clusters(step)
        elif step.kind == ("work.karmada.io", "works") and _starts_to_leave(step):
            space = step.object["metadata"]["namespace"]
            key = (_binding_id(step.object), names.cluster_of_execution_space(space))
            if self.world.clock.monotonic() - self._listed.get(key, self.world.clock.monotonic()) > LAG:
                return f"{space}/{step.object['metadata']['name']} although its binding lists the cluster"
        return None

    def _note_clusters(self, step: Step) -> None:
        which = _binding_id(step.object)
        spec = step.object["spec"]
        is_gone = step.type is EventType.DELETED or _is_leaving(step.object)
        listed = {target["name"] for target in spec.get("clusters") or []}
        for requirer in spec.get("requiredBy") or []:
            listed |= {target["name"] for target in requirer.get("clusters") or []}
        for member in MEMBERS:
            if is_gone or member not in listed:
                self._listed.pop((which, member), None)
            else:
                self._listed.setdefault((which, member), self.world.clock.monotonic())

    def copies_stay(self, step: Step) -> str | None:
        """No copy is deleted while a Work that is not being deleted says that it should be there."""
        if step.server == HUB or step.kind != ("apps", "deployments") or step.type is not EventType.DELETED:
            return None
        metadata = step.object["metadata"]
        template = self.world.object(DEPLOYMENTS, metadata["name"], "default")
        if metadata["uid"] in self.deleted_by_members or template is None or _is_leaving(template):
            return None
        if _noted(step.object, "resourcetemplate.karmada.io/uid") != template["metadata"]["uid"]:
            return None
        space, name = names.execution_space(step.server), _noted(step.object, "work.karmada.io/name")
        work = self.world.object(WORKS, name, space)
        if work is None or _is_leaving(work):
            return None
        return f"{metadata['name']} was deleted in {step.server} although its Work is there"

    def owned_stays(self, step: Step) -> str | None:
        """The ConfigMap that belongs to a member stays as it is."""
        if step.server != OWNER or step.kind != ("", "configmaps") or step.object["metadata"]["name"] != DEPENDENCY:
            return None
        if step.type is EventType.DELETED or step.object.get("data") != {"owner": OWNER}:
            return f"{step.type} {step.object.get('data')}"
        return None

    def notes_stay(self, step: Step) -> str | None:
        """What people in a member noted on a copy stays there."""
        if step.server == HUB or step.kind != ("apps", "deployments") or step.type is EventType.DELETED:
            return None
        uid, found = step.object["metadata"]["uid"], _noted(step.object, NOTE)
        if found and found == self._noting:
            self._notes[uid] = found
        return None if found == self._notes.get(uid, "") else f"a note in {step.server} became {found!r}"

    def spec_is_the_users(self, step: Step) -> str | None:
        """Nobody but the user changes what a template says."""
        if step.server != HUB or step.kind != ("apps", "deployments") or step.previous is None or self.user_writes:
            return None
        before, after = step.previous["spec"], step.object["spec"]
        return None if before == after else f"{step.object['metadata']['name']} became {after}"

    def disagreement(self) -> str | None:
        """Where members are not what they should be."""
        templates = {tree["metadata"]["name"]: tree for tree in self.world.objects(DEPLOYMENTS, "default")}
        for member in MEMBERS:
            copies = {tree["metadata"]["name"]: tree for tree in self.world.objects(DEPLOYMENTS, "default", member)}
            wanted = templates if member in self.clusters else {}
            if copies.keys() != wanted.keys():
                return f"{member} has {sorted(copies)}, not {sorted(wanted)}"
            for name, template in wanted.items():
                found, meant = copies[name]["spec"]["replicas"], template["spec"]["replicas"]
                if found != meant:
                    return f"{name} has {found} replicas in {member}, not {meant}"
        return self._dependency_disagrees(bool(templates)) or self._left_over(set(templates))

    def _dependency_disagrees(self, is_needed: bool) -> str | None:
        source = self.world.object(CONFIG_MAPS, DEPENDENCY, "default")
        wanted = source is not None and is_needed and self.with_dependencies
        for member in MEMBERS:
            copy = self.world.object(CONFIG_MAPS, DEPENDENCY, "default", member)
            if member == OWNER:
                continue
            if (copy is not None) != (wanted and member in self.clusters):
                return f"{DEPENDENCY} is {'' if copy else 'not '}in {member}"
            if copy is not None and source is not None and copy["data"] != source["data"]:
                return f"{DEPENDENCY} in {member} has {copy['data']}, not {source['data']}"
        return None

    def _left_over(self, templates: set[str]) -> str | None:
        bound = {
            tree["spec"]["resource"]["name"]
            for tree in self.world.objects(BINDINGS)
            if tree["spec"]["resource"]["kind"] == "Deployment"
        }
        if bound != templates:
            return f"there are bindings of {sorted(bound)} for templates {sorted(templates)}"
        expected = {(names.execution_space(member), name) for member in self.clusters for name in templates}
        found = {
            (tree["metadata"]["namespace"], manifest["metadata"]["name"])
            for tree in self.world.objects(WORKS)
            for manifest in tree["spec"]["workload"]["manifests"]
            if manifest["kind"] == "Deployment"
        }
        return None if found == expected else f"there are Works {sorted(found)}, not {sorted(expected)}"


def scenario(manager: Manager = run_manager, start: Callable[[World], None] | None = None) -> Scenario:
    """The whole story, with the controllers as they are or with a bug in them; `start` starts other components."""

    async def story(world: World) -> None:
        await install(world)
        users = Users(world)
        own = {"metadata": {"name": DEPENDENCY, "namespace": "default"}, "data": {"owner": OWNER}}
        await users.members[OWNER].resource(CONFIG_MAPS).create(own)
        world.check(WORK_GOES, users.works_stay)
        world.check(COPY_GOES, users.copies_stay)
        world.check(OWNED_STAYS, users.owned_stays)
        world.check(OWNED_STAYS, users.notes_stay)
        world.check(SPEC_IS_THE_USERS, users.spec_is_the_users)
        if start is not None:
            start(world)
        else:
            world.start(Component("controller-manager", manager, MANAGER))
            world.start(Component("scheduler", run_scheduler, SCHEDULER))
        await world.clock.sleep(40)

        async def use() -> None:
            for _ in range(ACTIONS):
                await world.clock.sleep(world.random.random() ** 2 * 10)
                await users.act()

        using = world.background(use())
        await world.storm(80, WEATHER)
        await using
        users.suspended = False
        await users.publish()
        await world.calm(SETTLING)
        await _lose_a_member(world, users)
        problem = users.disagreement()
        if problem:
            world.fail(AGREED, problem)

    return story


async def _lose_a_member(world: World, users: Users) -> None:
    """While one member is cut off, the others get what is new."""
    if (problem := users.disagreement()) is not None:
        world.fail(AGREED, problem)
        return
    lost, left = world.random.sample(MEMBERS, 2)
    heals = [world.cut(component, lost) for component in world.linked(lost)]
    users.clusters = list(MEMBERS)
    await users.publish()
    users.user_writes = True
    if world.object(DEPLOYMENTS, NAMES[0], "default") is None:
        await users.client.resource(DEPLOYMENTS).create(_needing_settings(deployment(NAMES[0], 7)))
    await users.client.resource(DEPLOYMENTS).patch(NAMES[0], {"spec": {"replicas": 7}}, "default")
    users.user_writes = False
    await world.clock.sleep(REACTION)
    copy = world.object(DEPLOYMENTS, NAMES[0], "default", left)
    if copy is None or copy["spec"]["replicas"] != 7:
        world.fail(NO_WAITING, f"{NAMES[0]} is not in {left} while {lost} cannot be reached")
    for heal in heals:
        heal()
    await world.calm(SETTLING)


def _needing_settings(template: JSONObject) -> JSONObject:
    container = template["spec"]["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": DEPENDENCY, "optional": True}}]
    return template


def _starts_to_leave(step: Step) -> bool:
    before = step.previous is not None and _is_leaving(step.previous)
    return not before and (step.type is EventType.DELETED or _is_leaving(step.object))


def _binding_id(tree: JSONObject) -> str:
    return str((tree["metadata"].get("labels") or {}).get("resourcebinding.karmada.io/permanent-id", ""))


def _is_leaving(tree: JSONObject) -> bool:
    return "deletionTimestamp" in tree["metadata"]


def _noted(tree: JSONObject, annotation: str) -> str:
    return str((tree["metadata"].get("annotations") or {}).get(annotation, ""))
