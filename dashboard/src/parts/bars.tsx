// Capacity of clusters as bars: what is taken of what there is.
import { amount, short } from "../format";
import { t } from "../i18n";
import type { ClusterRow } from "../types";

export interface Use {
  resource: string;
  taken: number;
  all: number;
}

const FIRST = ["cpu", "memory", "pods"];

/** The use of each resource over some clusters, the common ones first. */
export function uses(rows: Pick<ClusterRow, "capacity">[]): Use[] {
  const sums = new Map<string, Use>();
  for (const row of rows) {
    for (const [resource, one] of Object.entries(row.capacity ?? {})) {
      const sum = sums.get(resource) ?? { resource, taken: 0, all: 0 };
      sum.taken += amount(one.allocated);
      sum.all += amount(one.allocatable);
      sums.set(resource, sum);
    }
  }
  const rank = (name: string) => (FIRST.indexOf(name) + 1 || 99) as number;
  return [...sums.values()].filter((one) => one.all > 0).sort((a, b) => rank(a.resource) - rank(b.resource));
}

function level(share: number): string {
  return share > 0.9 ? "high" : share > 0.75 ? "raised" : "";
}

export function Bar({ use }: { use: Use }) {
  const share = Math.min(1, use.taken / use.all);
  const percent = Math.round(share * 100);
  const words = `${short(use.resource, use.taken)} / ${short(use.resource, use.all)}`;
  return (
    <div class="bar-row">
      <span class="bar-name">{use.resource}</span>
      <span
        class={`bar ${level(share)}`}
        role="meter"
        aria-label={`${use.resource}: ${words}`}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span class="fill" style={{ width: `${percent}%` }} />
      </span>
      <span class="bar-words">
        {words} <span class="dim">({percent}%)</span>
      </span>
    </div>
  );
}

export function Bars({ rows, most = 4 }: { rows: Pick<ClusterRow, "capacity">[]; most?: number }) {
  const found = uses(rows).slice(0, most);
  if (!found.length) return <p class="dim">{t("No capacity is reported.")}</p>;
  return (
    <div class="bars">
      {found.map((use) => (
        <Bar key={use.resource} use={use} />
      ))}
    </div>
  );
}

export function SmallBar({ row, resource }: { row: ClusterRow; resource: string }) {
  const use = uses([row]).find((one) => one.resource === resource);
  if (!use) return <span class="dim">–</span>;
  const percent = Math.min(100, Math.round((use.taken / use.all) * 100));
  const words = `${short(resource, use.taken)} / ${short(resource, use.all)}`;
  return (
    <span class="small-bar" title={words}>
      <span
        class={`bar ${level(percent / 100)}`}
        role="meter"
        aria-label={`${resource}: ${words}`}
        aria-valuenow={percent}
        aria-valuemin={0}
        aria-valuemax={100}
      >
        <span class="fill" style={{ width: `${percent}%` }} />
      </span>
      <span class="num">{percent}%</span>
    </span>
  );
}
