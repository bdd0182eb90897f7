import assert from "node:assert/strict";
import { test } from "node:test";
import { fold } from "../src/graph/fold";
import { beside, draw, WIDTH } from "../src/graph/layout";
import type { GraphEdge, GraphNode, State } from "../src/types";

function federation(clusters: number, pods: number, state: (number: number) => State): [GraphNode[], GraphEdge[]] {
  const nodes: GraphNode[] = ["template", "policy", "binding"].map((type) => ({ id: type, type, label: type, state: "ok", sentence: "" }) as GraphNode);
  const edges: GraphEdge[] = [
    { from: "template", to: "policy", state: "ok" },
    { from: "policy", to: "binding", state: "ok" },
  ];
  for (let number = 0; number < clusters; number++) {
    const at = state(number);
    nodes.push({ id: `c${number}`, type: "cluster", label: `member${number}`, state: at, sentence: `why ${at}, `.repeat(1 + (number % 7)) });
    edges.push({ from: "binding", to: `c${number}`, state: at });
    if (at === "off") continue;
    nodes.push({ id: `o${number}`, type: "object", label: "object", state: at, sentence: "" });
    edges.push({ from: `c${number}`, to: `o${number}`, state: at });
    for (let pod = 0; pod < pods; pod++) {
      nodes.push({ id: `p${number}-${pod}`, type: "pod", label: "pod", state: at, sentence: "" });
      edges.push({ from: `o${number}`, to: `p${number}-${pod}`, state: at });
    }
  }
  return [nodes, edges];
}

const label = (kind: string, count: number) => `${count} ${kind}`;

test("a large graph is folded, and what is not well stays visible", () => {
  const [nodes, edges] = federation(40, 5, (number) => (number === 33 ? "bad" : number >= 20 ? "off" : "ok"));
  nodes.find((node) => node.id === "c33")!.state = "bad";
  const shown = fold(nodes, edges, new Set(), label);
  assert.ok(shown.nodes.some((node) => node.id === "c33"), "the bad one");
  assert.ok(shown.nodes.length < 60);
  const folded = shown.nodes.filter((node) => node.folds);
  assert.equal(folded.find((node) => node.id === "fold:off")?.folds, 19);
  const ids = new Set(shown.nodes.map((node) => node.id));
  for (const edge of shown.edges) assert.ok(ids.has(edge.from) && ids.has(edge.to), `${edge.from} → ${edge.to}`);
  const opened = fold(nodes, edges, new Set(folded.map((node) => node.id)), label);
  assert.ok(opened.nodes.length > shown.nodes.length);
});

test("a small graph is shown as it is", () => {
  const [nodes, edges] = federation(2, 2, () => "ok");
  const shown = fold(nodes, edges, new Set(), label);
  assert.deepEqual(shown.nodes.map((node) => node.id), nodes.map((node) => node.id));
  assert.deepEqual(shown.edges, edges);
});

test("no box lies on another", () => {
  for (const [clusters, pods] of [[1, 1], [3, 3], [8, 2], [20, 4]] as const) {
    const [nodes, edges] = federation(clusters, pods, (number) => (number % 5 === 4 ? "off" : "ok"));
    const { nodes: boxes } = draw(fold(nodes, edges, new Set(["fold:clusters"]), label));
    for (const [index, a] of boxes.entries()) {
      for (const b of boxes.slice(index + 1)) {
        assert.ok(Math.abs(a.x - b.x) >= WIDTH || a.y + a.height <= b.y || b.y + b.height <= a.y, `${a.node.id} and ${b.node.id}`);
      }
    }
  }
});

test("arrow keys lead along a way, up and down a column, and reach every box", () => {
  const [nodes, edges] = federation(3, 2, (number) => (number === 2 ? "off" : "ok"));
  const drawing = draw(fold(nodes, edges, new Set(), label));
  const walked = (from: string, ...keys: string[]) => keys.reduce<string | undefined>((at, key) => (at ? beside(drawing, at, key) : at), from);
  assert.equal(walked("c0", "ArrowRight", "ArrowRight"), "p0-0");
  assert.equal(walked("p0-0", "ArrowDown", "ArrowDown"), "p1-0");
  assert.equal(walked("p0-0", "ArrowLeft", "ArrowLeft"), "c0");
  assert.equal(walked("c0", "ArrowDown", "ArrowDown"), "c2");
  assert.equal(walked("template", "ArrowDown", "ArrowDown"), "binding");
  assert.equal(walked("template", "ArrowUp"), undefined);
  assert.equal(walked("template", "Enter"), undefined);
  const seen = new Set(["template"]);
  for (const id of seen) for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) seen.add(beside(drawing, id, key) ?? id);
  assert.equal(seen.size, drawing.nodes.length);
});
