import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeClusters, mergeEvents, mergeOverview, mergeRows } from "../src/merge";
import type { ClusterRow, EventRow, Overview, Ref, WorkloadRow } from "../src/types";

const cluster = (name: string, region = ""): ClusterRow => ({ name, region }) as ClusterRow;
const ref = (name: string, namespace = "default"): Ref => ({ apiVersion: "apps/v1", kind: "Deployment", namespace, name });
const row = (name: string, desired = 1): WorkloadRow => ({ ref: ref(name), desired }) as WorkloadRow;
const event = (id: string, time: string, namespace = "default"): EventRow => ({ id, time, object: ref("x", namespace) }) as EventRow;

test("changed clusters stay in place, new ones find theirs, lost ones go", () => {
  const before = [cluster("a"), cluster("c")];
  const after = mergeClusters(before, [cluster("c", "north"), cluster("b")], [{ ...ref("a"), kind: "Cluster" }]);
  assert.deepEqual(after.map((one) => [one.name, one.region]), [["b", ""], ["c", "north"]]);
  assert.equal(mergeClusters(before, [], []), before);
});

test("an overview keeps what a message leaves out, and a snapshot replaces all", () => {
  const before = { clusters: [cluster("a"), cluster("b")], workloads: { total: 1 }, problems: [1], moves: [2] } as unknown as Overview;
  const change = { topic: "overview", rows: [{ clusters: [cluster("b", "north")], workloads: { total: 2 } }], gone: [] };
  const after = mergeOverview(before, change);
  assert.deepEqual(after.clusters.map((one) => one.region), ["", "north"]);
  assert.deepEqual([after.workloads.total, after.problems, after.moves], [2, [1], [2]]);
  const whole = { clusters: [], workloads: { total: 0 }, problems: [], moves: [] };
  assert.deepEqual(mergeOverview(before, { ...change, rows: [whole], snapshot: true }), whole);
});

test("rows are added only where all are loaded and nothing is filtered", () => {
  const before = [row("a"), row("c")];
  assert.deepEqual(mergeRows(before, [row("b"), row("c", 5)], [], true).map((one) => [one.ref.name, one.desired]), [["a", 1], ["b", 1], ["c", 5]]);
  assert.deepEqual(mergeRows(before, [row("b")], [ref("a")], false).map((one) => one.ref.name), ["c"]);
});

test("events replace their earlier form, newest first, of the namespace that is shown", () => {
  const before = [event("1", "2026-01-01T00:00:02Z"), event("2", "2026-01-01T00:00:01Z")];
  const after = mergeEvents(before, [event("2", "2026-01-01T00:00:09Z"), event("3", "2026-01-01T00:00:05Z", "other")], "default", 10);
  assert.deepEqual(after.map((one) => one.id), ["2", "1"]);
  assert.equal(mergeEvents(before, [event("3", "2027-01-01T00:00:00Z")], "", 2).length, 2);
});
