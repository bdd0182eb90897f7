"""The life of containers: started, running, ended, restarted after a growing pause. Pure: time in, states out."""

import re
from dataclasses import dataclass
from math import inf

from karmada.machinery.clock import parse_rfc3339, rfc3339
from karmada.machinery.transport import JSONObject
from karmada.simulator import shell
from karmada.simulator.behaviour import Behaviour, Fate
from karmada.simulator.workloads.views import Container, ContainerStatus, Pod

BACKOFF = (10.0, 300.0)
"""First and longest pause before a container that ended is started again."""
STEADY = 600.0
"""A container that ran this long is restarted at once."""
KILLED = 137
"""How a container ends that is killed."""
_PAUSE = re.compile(r"(^|/)pause([:@]|$)")
"""Images of the program that does nothing until it is killed."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a container will do once it is started."""

    ready_after: float = 0.0
    ends_after: float = inf
    code: int = 0
    missing: bool = False


def course_of(pod: Pod, container: Container, behaviour: Behaviour) -> Course:
    """The course of a container: its image decides, then its command, then what kind of pod it is in."""
    rule = behaviour.of(container.image)
    match rule.fate:
        case Fate.MISSING:
            return Course(missing=True)
        case Fate.CRASH:
            return Course(ready_after=inf, ends_after=rule.seconds, code=1)
        case Fate.NEVER_READY:
            return Course(ready_after=inf)
    command = [*(container.command or ()), *(container.args or ())]
    if shell.is_known(command):
        outcome = shell.run(command, surroundings(pod, container))
        if not outcome.unknown:
            return Course(rule.seconds, outcome.seconds, outcome.code)
    controller = pod.metadata.controller
    if _PAUSE.search(container.image):
        return Course(rule.seconds)
    if pod.spec.restart_policy != "Always" and controller is not None and controller.kind == "Job":
        return Course(rule.seconds, behaviour.job_seconds, 0)
    return Course(rule.seconds)


def surroundings(pod: Pod, container: Container) -> shell.Surroundings:
    """What a command in a container sees."""
    hostname = pod.spec.hostname or pod.metadata.name
    env = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOSTNAME": hostname,
        "HOME": "/root",
    }
    for entry in container.env or ():
        if isinstance(entry.get("value"), str):
            env[entry["name"]] = entry["value"]
        else:
            field = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
            known = _field(pod, field) if field else None
            if known is not None:
                env[entry["name"]] = known
    files = {
        "/etc/hostname": f"{hostname}\n",
        "/etc/hosts": f"127.0.0.1\tlocalhost\n{pod.status.pod_ip or '127.0.0.1'}\t{hostname}\n",
        "/var/run/secrets/kubernetes.io/serviceaccount/namespace": pod.metadata.namespace,
    }
    created = pod.metadata.creation_timestamp
    return shell.Surroundings(hostname, env, files, now=parse_rfc3339(created) if created else 0.0)


def _field(pod: Pod, path: str) -> str | None:
    meta = pod.metadata
    fields = {
        "metadata.name": meta.name,
        "metadata.namespace": meta.namespace,
        "metadata.uid": meta.uid,
        "spec.nodeName": pod.spec.node_name,
        "status.podIP": pod.status.pod_ip,
    }
    if path.startswith(("metadata.labels['", "metadata.annotations['")):
        source = meta.labels if path.startswith("metadata.labels") else meta.annotations
        return (source or {}).get(path.split("'")[1])
    return fields.get(path)


@dataclass(slots=True)
class Life:
    """One container now. Times are seconds since the epoch."""

    state: str = "waiting"
    """waiting, running or terminated"""
    reason: str = "ContainerCreating"
    since: float = 0.0
    """When it entered its state."""
    restarts: int = 0
    code: int = 0
    started: float = 0.0
    last: tuple[int, float, float] | None = None
    """Exit code, start and end of the run before."""
    message: str = ""
    """Why it waits, where the reason alone does not say."""

    def advance(self, course: Course, policy: str, now: float) -> None:
        """Let everything happen that is due."""
        while self._step(course, policy, now):
            pass

    def kill(self, now: float) -> None:
        """Have it ended from outside, for good."""
        if self.state != "terminated":
            self.state, self.reason, self.code, self.since = "terminated", "Error", KILLED, now
            self.started = self.started or now

    def _step(self, course: Course, policy: str, now: float) -> bool:
        if self.state == "waiting":
            if course.missing:
                self.reason, self.since = "ImagePullBackOff", now
                return False
            if self.reason != "CrashLoopBackOff":
                self._run(now)
                return True
            due = self.since + self.pause
            if now < due:
                return False
            self.restarts += 1
            self._run(due)
            return True
        if self.state == "running":
            if now < self.started + course.ends_after:
                return False
            self.since = self.started + course.ends_after
            self.state, self.code = "terminated", course.code
            self.reason = "Error" if course.code else "Completed"
            return True
        if policy == "Never" or (policy == "OnFailure" and self.code == 0):
            return False
        self.last = (self.code, self.started, self.since)
        if self.restarts == 0 or self.since - self.started >= STEADY:
            self.restarts += 1
            self._run(self.since)
            # A first restart that ends at once must not happen in no time.
            return course.ends_after > 0 or self._fail_again(course)
        self.state, self.reason = "waiting", "CrashLoopBackOff"
        return True

    def _run(self, at: float) -> None:
        self.state, self.reason, self.since, self.started = "running", "", at, at

    def _fail_again(self, course: Course) -> bool:
        self.state, self.code, self.reason = "terminated", course.code, "Error" if course.code else "Completed"
        return True

    @property
    def pause(self) -> float:
        """Seconds before the next restart."""
        return float(min(BACKOFF[1], BACKOFF[0] * 2 ** max(0, self.restarts - 1)))

    def is_ready(self, course: Course, now: float) -> bool:
        """Whether the container serves."""
        return self.state == "running" and now >= self.started + course.ready_after

    def wakes(self, course: Course, policy: str, now: float) -> float:
        """Seconds until something happens by itself."""
        if self.state == "running":
            moments = (self.started + course.ready_after, self.started + course.ends_after)
            return min((moment - now for moment in moments if moment > now), default=inf)
        if self.state == "waiting" and self.reason == "CrashLoopBackOff":
            return max(0.0, self.since + self.pause - now)
        return inf

    def tree(self, container: Container, ready: bool, image_id: str, container_id: str) -> JSONObject:
        """The container status."""
        status: JSONObject = {
            "name": container.name,
            "image": container.image,
            "imageID": image_id if self.state != "waiting" or self.restarts else "",
            "ready": ready,
            "restartCount": self.restarts,
            "started": self.state == "running",
            "state": {self.state: self._state(container)},
            "lastState": {},
        }
        if self.state != "waiting" or self.restarts:
            status["containerID"] = container_id
        if self.last is not None:
            status["lastState"] = {"terminated": _terminated(*self.last)}
        return status

    def _state(self, container: Container) -> JSONObject:
        if self.state == "running":
            return {"startedAt": rfc3339(self.started)}
        if self.state == "terminated":
            return _terminated(self.code, self.started, self.since)
        if self.reason == "ImagePullBackOff":
            return {"reason": self.reason, "message": f'Back-off pulling image "{container.image}"'}
        if self.reason == "CrashLoopBackOff":
            text = f"back-off {int(self.pause)}s restarting failed container={container.name}"
            return {"reason": self.reason, "message": text}
        return {"reason": self.reason} | ({"message": self.message} if self.message else {})


def recalled(status: ContainerStatus) -> Life:
    """The life of a container that an earlier process started."""
    life = Life(restarts=status.restart_count)
    state = status.state
    if state.running is not None:
        life.state, life.reason = "running", ""
        life.started = life.since = _moment(state.running.started_at)
    elif state.terminated is not None:
        life.state, life.code, life.reason = "terminated", state.terminated.exit_code, state.terminated.reason or ""
        life.started, life.since = _moment(state.terminated.started_at), _moment(state.terminated.finished_at)
    elif state.waiting is not None:
        life.reason = state.waiting.reason or "ContainerCreating"
    last = status.last_state.terminated
    if last is not None:
        life.last = (last.exit_code, _moment(last.started_at), _moment(last.finished_at))
        if life.state == "waiting":
            life.since = life.last[2]
    return life


def _moment(text: str | None) -> float:
    return parse_rfc3339(text) if text else 0.0


def _terminated(code: int, started: float, finished: float) -> JSONObject:
    return {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": rfc3339(started),
        "finishedAt": rfc3339(finished),
    }
