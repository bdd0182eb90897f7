// The way of a workload as a graph: every node and every arrow opens its explanation.
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { StateIcon } from "../parts/state";
import type { GraphEdge, GraphNode, NodeType } from "../types";
import { fold, type Graph, type Shown } from "./fold";
import { beside, draw, WIDTH } from "./layout";

export const TYPES = {
  template: "Template",
  policy: "Policy",
  binding: "Binding",
  cluster: "Cluster",
  override: "Override",
  work: "Work",
  object: "Object in member",
  pod: "Pod",
} as const satisfies Record<NodeType, string>;

const POD_NAME = 14;

export type Picked = { node: Shown } | { edge: GraphEdge; from: GraphNode; to: GraphNode };

interface Props {
  nodes: GraphNode[];
  edges: GraphEdge[];
  picked: string;
  pick: (picked: Picked) => void;
  narrow: boolean;
}

export function edgeId(edge: GraphEdge): string {
  return `${edge.from} → ${edge.to}`;
}

function label(kind: "off" | "clusters" | "pods", count: number): string {
  if (kind === "off") return t("{n} clusters not chosen", { n: count });
  return kind === "clusters" ? t("{n} more clusters", { n: count }) : t("{n} more pods", { n: count });
}

export function GraphView({ nodes, edges, picked, pick, narrow }: Props) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const graph = useMemo(() => fold(nodes, edges, opened, label), [nodes, edges, opened]);
  const choose = (node: Shown) => {
    if (node.folds && node.state !== "off") setOpened(new Set([...opened, node.id]));
    else pick({ node });
  };
  if (narrow) return <Steps graph={graph} picked={picked} choose={choose} />;
  return <Drawn graph={graph} picked={picked} pick={pick} choose={choose} />;
}

interface Inner {
  graph: Graph;
  picked: string;
  choose: (node: Shown) => void;
}

function NodeBody({ node, whole = false }: { node: Shown; whole?: boolean }) {
  const kind = node.type === "template" && node.ref && node.label.startsWith(`${node.ref.kind} `) ? node.ref.kind : "";
  const label = kind ? node.label.slice(kind.length + 1) : node.label;
  // Pods of one owner differ in how their names end.
  const shown = !whole && node.type === "pod" && label.length > POD_NAME ? `…${label.slice(1 - POD_NAME)}` : label;
  return (
    <>
      <span class="node-top">
        <StateIcon state={node.state} />
        <span class="node-type">
          {t(TYPES[node.type])}
        </span>
        {node.folds > 0 && <span class="node-fold">+</span>}
      </span>
      <span class="node-label">{shown}</span>
      <span class="node-sentence">
        {kind && `${kind}, `}
        {node.sentence}
      </span>
    </>
  );
}

function Drawn({ graph, picked, pick, choose }: Inner & Pick<Props, "pick">) {
  const drawing = useMemo(() => draw(graph), [graph]);
  const box = useRef<HTMLDivElement>(null);
  const [scale, setScale] = useState(1);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const fit = () => setScale(Math.max(0.82, Math.min(1, (element.clientWidth - 4) / drawing.width)));
    fit();
    const watcher = new ResizeObserver(fit);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, [drawing.width]);
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const pickEdge = (edge: GraphEdge) => {
    const [from, to] = [byId.get(edge.from), byId.get(edge.to)];
    if (from && to) pick({ edge, from, to });
  };
  const walk = (event: KeyboardEvent) => {
    const at = (event.target as HTMLElement).dataset["node"];
    const next = at && beside(drawing, at, event.key);
    if (!next) return;
    event.preventDefault();
    box.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  return (
    <div class="graph" ref={box} tabIndex={0} role="group" aria-label={t("The way of this workload")} onKeyDown={walk}>
      <div style={{ width: `${drawing.width * scale}px`, height: `${drawing.height * scale}px` }}>
        <div class="canvas" style={{ width: `${drawing.width}px`, height: `${drawing.height}px`, transform: `scale(${scale})` }}>
          <svg width={drawing.width} height={drawing.height} role="group" aria-label={t("Arrows")}>
            <defs>
              {(["ok", "wait", "bad", "off"] as const).map((state) => (
                <marker key={state} id={`tip-${state}`} viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">
                  <path d="M0 0L8 4L0 8z" class={`tip s-${state}`} />
                </marker>
              ))}
            </defs>
            {drawing.lines.map(({ edge, path }) => (
              <g key={edgeId(edge)} class={`edge s-${edge.state} ${picked === edgeId(edge) ? "picked" : ""}`}>
                <path d={path} class="line" marker-end={`url(#tip-${edge.state})`} />
                <path
                  d={path}
                  class="hit"
                  role="button"
                  // Not tabIndex: on SVG elements the name would be another attribute, and the arrow out of reach of the keyboard.
                  tabindex={0}
                  aria-label={t("Arrow from {a} to {b}", { a: byId.get(edge.from)?.label ?? "", b: byId.get(edge.to)?.label ?? "" })}
                  onClick={() => pickEdge(edge)}
                  onKeyDown={(event) => {
                    if (event.key === "Enter" || event.key === " ") {
                      event.preventDefault();
                      pickEdge(edge);
                    }
                  }}
                />
              </g>
            ))}
          </svg>
          {drawing.nodes.map(({ node, x, y, height }) => (
            <button
              type="button"
              key={node.id}
              data-node={node.id}
              class={`node n-${node.state} t-${node.type} ${picked === node.id ? "picked" : ""}`}
              style={{ left: `${x}px`, top: `${y}px`, width: `${WIDTH}px`, height: `${height}px` }}
              title={`${node.label}: ${node.sentence}`}
              onClick={() => choose(node)}
            >
              <NodeBody node={node} />
            </button>
          ))}
          {drawing.lines.map(({ edge, x, y, label: said }) =>
            said ? (
              <span key={edgeId(edge)} class="edge-label" style={{ left: `${x}px`, top: `${y}px` }}>
                {said}
              </span>
            ) : null,
          )}
        </div>
      </div>
    </div>
  );
}

/** The same graph for small screens: one node below the other, indented by their way. */
function Steps({ graph, picked, choose }: Inner) {
  const order = Object.keys(TYPES);
  const depth = (node: Shown) => Math.max(0, order.indexOf(node.type) - 2);
  const rows = useMemo(() => walk(graph), [graph]);
  return (
    <ol class="way" aria-label={t("The way of this workload")}>
      {rows.map((node) => (
        <li key={node.id} class={`depth-${depth(node)}`}>
          <button type="button" class={`node n-${node.state} ${picked === node.id ? "picked" : ""}`} onClick={() => choose(node)}>
            <NodeBody node={node} whole />
          </button>
        </li>
      ))}
    </ol>
  );
}

function walk(graph: Graph): Shown[] {
  const byId = new Map(graph.nodes.map((node) => [node.id, node]));
  const next = new Map<string, string[]>();
  for (const edge of graph.edges) next.set(edge.from, [...(next.get(edge.from) ?? []), edge.to]);
  const entered = new Set(graph.edges.map((edge) => edge.to));
  const seen = new Set<string>();
  const rows: Shown[] = [];
  const visit = (id: string) => {
    const node = byId.get(id);
    if (!node || seen.has(id)) return;
    seen.add(id);
    rows.push(node);
    const children = next.get(id) ?? [];
    const off = (child: string) => byId.get(child)?.state === "off";
    for (const child of [...children.filter((one) => !off(one)), ...children.filter(off)]) visit(child);
  };
  for (const node of graph.nodes) if (!entered.has(node.id)) visit(node.id);
  return rows;
}
