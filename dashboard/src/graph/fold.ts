// Large graphs folded: what is well and alike becomes one node that opens on a click; what is not well stays visible.
import type { GraphEdge, GraphNode, State } from "../types";

export interface Shown extends GraphNode {
  /** How many nodes a folded one stands for; 0 for a node of the server's graph. */
  folds: number;
  reasons?: string[];
}

export interface Graph {
  nodes: Shown[];
  edges: GraphEdge[];
}

const OFF_CLUSTERS = 3;
const CLUSTERS = 8;
const PODS = 3;
const WORST: Record<State, number> = { bad: 0, wait: 1, ok: 2, off: 3 };

interface Fold {
  id: string;
  hidden: GraphNode[];
  label: string;
}

type Label = (kind: "off" | "clusters" | "pods", count: number) => string;

function folds(nodes: GraphNode[], edges: GraphEdge[], label: Label): Fold[] {
  const found: Fold[] = [];
  const clusters = nodes.filter((node) => node.type === "cluster");
  const off = clusters.filter((node) => node.state === "off");
  if (off.length > OFF_CLUSTERS) found.push({ id: "fold:off", hidden: off, label: label("off", off.length) });
  const on = worst(clusters.filter((node) => node.state !== "off"));
  if (on.length > CLUSTERS) {
    const hidden = on.slice(CLUSTERS - 1);
    found.push({ id: "fold:clusters", hidden, label: label("clusters", hidden.length) });
  }
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const pods = new Map<string, GraphNode[]>();
  for (const edge of edges) {
    const node = byId.get(edge.to);
    if (node?.type === "pod") pods.set(edge.from, [...(pods.get(edge.from) ?? []), node]);
  }
  for (const [owner, all] of pods) {
    if (all.length <= PODS) continue;
    const hidden = worst(all).slice(PODS - 1);
    found.push({ id: `fold:pods:${owner}`, hidden, label: label("pods", hidden.length) });
  }
  return found;
}

function worst(nodes: GraphNode[]): GraphNode[] {
  return [...nodes].sort((a, b) => WORST[a.state] - WORST[b.state]);
}

/** The graph with all folds closed but those in `opened`. */
export function fold(nodes: GraphNode[], edges: GraphEdge[], opened: ReadonlySet<string>, label: Label): Graph {
  const into = new Map<string, Fold>();
  const used = folds(nodes, edges, label).filter((one) => !opened.has(one.id));
  for (const one of used) for (const node of one.hidden) into.set(node.id, one);
  const kept = reachable(nodes, edges, into);
  const shown: Shown[] = nodes.filter((node) => kept.has(node.id)).map((node) => ({ ...node, folds: 0 }));
  for (const one of used) {
    const first = worst(one.hidden)[0];
    if (!first || ![...edges].some((edge) => into.get(edge.to) === one && kept.has(edge.from))) continue;
    const reasons = [...new Set(one.hidden.map((node) => node.sentence))].slice(0, 5);
    shown.push({ id: one.id, type: first.type, label: one.label, state: first.state, sentence: reasons[0] ?? "", folds: one.hidden.length, reasons });
  }
  const lines = new Map<string, GraphEdge>();
  for (const edge of edges) {
    const to = into.get(edge.to)?.id ?? edge.to;
    if (!kept.has(edge.from) || !(kept.has(to) || to.startsWith("fold:"))) continue;
    const id = `${edge.from} ${to}`;
    if (!lines.has(id)) lines.set(id, to === edge.to ? edge : { from: edge.from, to, state: edge.state });
  }
  return { nodes: shown, edges: [...lines.values()] };
}

function reachable(nodes: GraphNode[], edges: GraphEdge[], hidden: ReadonlyMap<string, Fold>): Set<string> {
  const next = new Map<string, string[]>();
  const entered = new Set<string>();
  for (const edge of edges) {
    next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to]);
    entered.add(edge.to);
  }
  const open = nodes.filter((node) => !entered.has(node.id)).map((node) => node.id);
  const kept = new Set<string>();
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (kept.has(id) || hidden.has(id)) continue;
    kept.add(id);
    open.push(...(next.get(id) ?? []));
  }
  return kept;
}
