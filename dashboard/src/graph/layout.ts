// Where nodes and arrows are drawn. The chain down to the binding stands in the first column; from there each cluster's
// way runs to the right, one column for each kind of object, children below each other in the server's order.
import type { GraphEdge, NodeType } from "../types";
import type { Graph, Shown } from "./fold";

export const WIDTH = 152;
/** The least height of a box; arrows meet its side in the middle of this. */
export const HEIGHT = 74;
/** Names longer than this take two lines. */
const ONE_LINE = 15;
/** Letters of a sentence that surely fit a line, and lines before it is cut short. */
const LINE = 18;
const LINES = 4;
const GAP_X = 34;
const GAP_Y = 12;
const CLUSTER_GAP = 10;
const STACK_Y = 36;
const STACK: NodeType[] = ["template", "policy", "binding"];
const COLUMNS: NodeType[] = ["cluster", "override", "work", "object", "pod"];

export interface Placed {
  node: Shown;
  x: number;
  y: number;
  height: number;
}

export interface Line {
  edge: GraphEdge;
  path: string;
  x: number;
  y: number;
  /** Arrows between columns are too short for theirs; the side panel says it. */
  label: string;
}

export interface Drawing {
  nodes: Placed[];
  lines: Line[];
  width: number;
  height: number;
}

/** As high as its texts need: a sentence that ends in dots explains nothing. */
function heightOf(node: Shown): number {
  const names = node.label.length > ONE_LINE && node.type !== "pod" ? 2 : 1;
  const lines = Math.min(LINES, Math.ceil(node.sentence.length / LINE));
  return Math.max(HEIGHT, 25 + 16.5 * names + 14.5 * lines);
}

export function draw(graph: Graph): Drawing {
  const used = COLUMNS.filter((type) => graph.nodes.some((node) => node.type === type));
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to]);
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const at = new Map<string, Placed>();
  const stack = STACK.flatMap((type) => graph.nodes.filter((node) => node.type === type));
  let top = 0;
  for (const node of stack) {
    const height = heightOf(node);
    at.set(node.id, { node, x: 0, y: top, height });
    top += height + STACK_Y;
  }

  let bottom = 0;
  const place = (node: Shown) => {
    if (at.has(node.id)) return;
    const [y, height] = [bottom, heightOf(node)];
    at.set(node.id, { node, x: (used.indexOf(node.type) + 1) * (WIDTH + GAP_X), y, height });
    for (const id of next.get(node.id) ?? []) {
      const child = byId.get(id);
      if (child) place(child);
    }
    bottom = Math.max(bottom, y + height + GAP_Y);
  };
  const clusters = graph.nodes.filter((node) => node.type === "cluster");
  for (const node of [...clusters.filter((one) => one.state !== "off"), ...clusters.filter((one) => one.state === "off"), ...graph.nodes]) {
    const fresh = !at.has(node.id);
    place(node);
    if (fresh) bottom += CLUSTER_GAP;
  }
  const nodes = [...at.values()];
  const lines = graph.edges.flatMap((edge) => {
    const [from, to] = [at.get(edge.from), at.get(edge.to)];
    return from && to ? [line(edge, from, to)] : [];
  });
  return {
    nodes,
    lines,
    width: Math.max(0, ...nodes.map((one) => one.x)) + WIDTH,
    height: Math.max(0, ...nodes.map((one) => one.y + one.height)),
  };
}

const WAYS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const STRAIGHT = 3;

/** The node that an arrow key leads to: the nearest in its direction, rather straight ahead than aside. */
export function beside(drawing: Drawing, id: string, key: string): string | undefined {
  const here = drawing.nodes.find((one) => one.node.id === id);
  const way = WAYS[key];
  if (!here || !way) return undefined;
  let [found, least]: [string | undefined, number] = [undefined, Infinity];
  for (const { node, x, y } of drawing.nodes) {
    const [dx, dy] = [x - here.x, y - here.y];
    const ahead = dx * way[0] + dy * way[1];
    const far = ahead + STRAIGHT * Math.abs(dx * way[1] + dy * way[0]);
    if (ahead > 0 && far < least) [found, least] = [node.id, far];
  }
  return found;
}

function line(edge: GraphEdge, from: Placed, to: Placed): Line {
  if (from.x === to.x) {
    const [x, start, end] = [from.x + WIDTH / 2, from.y + from.height, to.y - 3];
    return { edge, path: `M${x} ${start}V${end}`, x, y: (start + end) / 2 - 3, label: edge.label ?? "" };
  }
  const [x, y, end, floor] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x - 3, to.y + HEIGHT / 2];
  const bus = x + GAP_X / 2 - 3;
  const bend = Math.min(8, Math.abs(floor - y) / 2) * Math.sign(floor - y);
  const path = bend ? `M${x} ${y}H${bus - 8}Q${bus} ${y} ${bus} ${y + bend}V${floor - bend}Q${bus} ${floor} ${bus + 8} ${floor}H${end}` : `M${x} ${y}H${end}`;
  return { edge, path, x: bus, y: floor, label: "" };
}
