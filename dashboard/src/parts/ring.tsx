// The clusters around their control plane; from some number on as tiles by region, since a ring would no longer be read.
import { BASE } from "../api";
import { t } from "../i18n";
import type { ClusterRow, Move } from "../types";
import { uses } from "./bars";
import { steps } from "./moves";
import { clusterState, StateIcon } from "./state";

const RING = 16;
const [WIDTH, HEIGHT] = [640, 330];
const BOX = { x: 76, y: 24 };
/** Moves older than this many milliseconds are no longer drawn. */
const LIVE = 120_000;
/** How far along a move's arrow its text stands: past the control plane, before the cluster. */
const ALONG = 0.78;
const NAME = 15;

interface Point {
  x: number;
  y: number;
}

/** Where a line from a box's middle to another point leaves the box. */
function leave(middle: Point, toward: Point): Point {
  const [dx, dy] = [toward.x - middle.x, toward.y - middle.y];
  const share = Math.min((BOX.x + 5) / (Math.abs(dx) || 1e-9), (BOX.y + 5) / (Math.abs(dy) || 1e-9));
  return { x: middle.x + dx * share, y: middle.y + dy * share };
}

/** Where the text of a move stands: beside its arrow, on the side that is away from the control plane. */
function aside(from: Point, to: Point): Point & { anchor: "start" | "middle" | "end" } {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const [x, y] = [from.x + dx * ALONG, from.y + dy * ALONG];
  const away = dy * (WIDTH / 2 - x) - dx * (HEIGHT / 2 - y) > 0 ? -1 : 1;
  const [sx, sy] = [(away * dy) / length, (-away * dx) / length];
  return { x: x + 8 * sx, y: y + 4 + 12 * sy, anchor: sx < -0.2 ? "end" : sx > 0.2 ? "start" : "middle" };
}

function short(name: string): string {
  return name.length > NAME ? `${name.slice(0, NAME - 1)}…` : name;
}

function href(name: string): string {
  return `${BASE}/clusters/${encodeURIComponent(name)}`;
}

export function Ring({ rows, moves }: { rows: ClusterRow[]; moves: Move[] }) {
  if (!rows.length) return <p class="dim">{t("No cluster has joined yet.")}</p>;
  return rows.length <= RING ? <Around rows={rows} moves={moves} /> : <Tiles rows={rows} />;
}

function describe(row: ClusterRow): string {
  const word = row.ready === true ? t("Ready") : row.ready === false ? t("Not ready") : t("Unknown");
  return `${row.name}: ${word}${row.ready === true ? "" : `, ${row.message || row.reason}`}`;
}

function Around({ rows, moves }: { rows: ClusterRow[]; moves: Move[] }) {
  const at = new Map(
    rows.map((row, index) => {
      const angle = (index / rows.length) * 2 * Math.PI - Math.PI / 2;
      return [row.name, { x: WIDTH / 2 + 225 * Math.cos(angle), y: HEIGHT / 2 + 118 * Math.sin(angle) }];
    }),
  );
  const fresh = moves.filter((move) => !move.time || Date.now() - Date.parse(move.time) < LIVE);
  const arcs = fresh.slice(0, 5).flatMap((move) => {
    const changed = steps(move);
    const from = changed.filter((one) => one.after < one.before);
    const to = changed.filter((one) => one.after > one.before);
    const name = short(move.ref.name);
    return from.flatMap((a) => to.map((b) => ({ from: a.cluster, to: b.cluster, text: `${name} +${b.after - b.before}` })));
  });
  return (
    <div class="ring">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="group" aria-label={t("Clusters")}>
        <defs>
          <marker id="move-tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">
            <path d="M0 0L8 4L0 8z" class="move-tip" />
          </marker>
        </defs>
        {rows.map((row) => {
          const end = at.get(row.name) ?? { x: 0, y: 0 };
          return <line key={row.name} x1={WIDTH / 2} y1={HEIGHT / 2} x2={end.x} y2={end.y} class={`spoke s-${clusterState(row)}`} />;
        })}
        {arcs.map((arc, index) => {
          const [from, to] = [at.get(arc.from), at.get(arc.to)];
          if (!from || !to) return null;
          const [a, b] = [leave(from, to), leave(to, from)];
          const text = aside(a, b);
          return (
            <g key={index}>
              <path d={`M${a.x} ${a.y}L${b.x} ${b.y}`} class="move-arc" marker-end="url(#move-tip)" />
              <text x={text.x} y={text.y} text-anchor={text.anchor} class="move-text">
                {arc.text}
              </text>
            </g>
          );
        })}
        <circle cx={WIDTH / 2} cy={HEIGHT / 2} r="32" class="hub" />
        <text x={WIDTH / 2} y={HEIGHT / 2 + 4} class="hub-text">
          Karmada
        </text>
        {rows.map((row) => {
          const { x, y } = at.get(row.name) ?? { x: 0, y: 0 };
          const cpu = uses([row]).find((one) => one.resource === "cpu");
          const share = cpu ? Math.min(1, cpu.taken / cpu.all) : 0;
          const state = clusterState(row);
          return (
            <a key={row.name} href={href(row.name)} class={`member s-${state}`}>
              <title>{describe(row)}</title>
              <rect x={x - BOX.x} y={y - BOX.y} width={2 * BOX.x} height={2 * BOX.y} rx="8" class="member-box" />
              <svg x={x - 68} y={y - 17} width="15" height="15" viewBox="0 0 16 16">
                <StateIcon state={state} />
              </svg>
              <text x={x - 48} y={y - 5} class="member-name">
                {short(row.name)}
              </text>
              <rect x={x - 68} y={y + 6} width="76" height="6" rx="3" class="member-bar" />
              <rect x={x - 68} y={y + 6} width={76 * share} height="6" rx="3" class="member-fill" />
              <text x={x + 15} y={y + 13} class="member-note">
                CPU {Math.round(share * 100)}%
              </text>
            </a>
          );
        })}
      </svg>
      <ul class="ring-list">
        {rows.map((row) => (
          <li key={row.name}>
            <StateIcon state={clusterState(row)} /> <a href={href(row.name)}>{row.name}</a>
            {row.ready !== true && <span class="dim"> {row.message || row.reason}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Tiles({ rows }: { rows: ClusterRow[] }) {
  const regions = new Map<string, ClusterRow[]>();
  for (const row of rows) {
    const name = row.region || row.provider || t("No region");
    regions.set(name, [...(regions.get(name) ?? []), row]);
  }
  return (
    <div class="tiles" tabIndex={0} role="region" aria-label={t("Clusters by region")}>
      {[...regions].sort(([a], [b]) => a.localeCompare(b)).map(([name, members]) => {
        const bad = members.filter((row) => row.ready !== true).length;
        return (
          <section key={name} aria-label={name}>
            <h3>
              {name} <span class="dim">{members.length}</span>
              {bad > 0 && (
                <span class="region-bad">
                  <StateIcon state="bad" label="" /> {t("{n} not ready", { n: bad })}
                </span>
              )}
            </h3>
            <div class="tile-row">
              {members.map((row) => (
                <a key={row.name} href={href(row.name)} class={`tile s-${clusterState(row)}`} title={describe(row)} aria-label={describe(row)} />
              ))}
            </div>
          </section>
        );
      })}
    </div>
  );
}
