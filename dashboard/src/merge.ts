// How changes of the stream become part of what a page holds. Pure.
import type { Change, ClusterRow, EventRow, Overview, Ref, WorkloadRow } from "./types";

const keys = new WeakMap<Ref, string>();

/** A reference as one word; made once for each, as lists of thousands are gone through with every change. */
export function key(ref: Ref): string {
  let found = keys.get(ref);
  if (found === undefined) {
    found = `${ref.apiVersion}/${ref.kind}/${ref.namespace ?? ""}/${ref.name}`;
    keys.set(ref, found);
  }
  return found;
}

/** Changed clusters in place, new ones in their order. */
export function mergeClusters(before: ClusterRow[], changed: ClusterRow[], gone: Ref[]): ClusterRow[] {
  if (!changed.length && !gone.length) return before;
  const lost = new Set(gone.map((ref) => ref.name));
  const news = new Map(changed.map((row) => [row.name, row]));
  const rows = before.filter((row) => !lost.has(row.name)).map((row) => news.get(row.name) ?? row);
  const known = new Set(rows.map((row) => row.name));
  const added = changed.filter((row) => !known.has(row.name));
  return added.length ? [...rows, ...added].sort((a, b) => (a.name < b.name ? -1 : 1)) : rows;
}

/** A snapshot replaces everything; later messages hold the clusters that changed, and lists that are not as before. */
export function mergeOverview(before: Overview, change: Change): Overview {
  const row = change.rows[0] as Partial<Overview> | undefined;
  if (!row) return before;
  if (change.snapshot) return row as Overview;
  return { ...before, ...row, clusters: mergeClusters(before.clusters, row.clusters ?? [], change.gone) };
}

/** Changed rows in place; new ones in their order, when all rows are loaded and nothing is filtered. */
export function mergeRows(before: WorkloadRow[], changed: WorkloadRow[], gone: Ref[], add: boolean): WorkloadRow[] {
  if (!changed.length && !gone.length) return before;
  const news = new Map(changed.map((row) => [key(row.ref), row]));
  const lost = new Set(gone.map(key));
  const rows = before.filter((row) => !lost.has(key(row.ref))).map((row) => news.get(key(row.ref)) ?? row);
  if (!add) return rows;
  const known = new Set(rows.map((row) => key(row.ref)));
  const added = changed.filter((row) => !known.has(key(row.ref)));
  return added.length ? [...rows, ...added].sort((a, b) => order(a.ref).localeCompare(order(b.ref))) : rows;
}

function order(ref: Ref): string {
  return `${ref.namespace ?? ""}\n${ref.kind}\n${ref.name}`;
}

/** Events that came or were counted on, the newest first, no more than `most`. */
export function mergeEvents(before: EventRow[], changed: EventRow[], namespace: string, most: number): EventRow[] {
  const wanted = changed.filter((row) => !namespace || row.object.namespace === namespace);
  if (!wanted.length) return before;
  const news = new Set(wanted.map((row) => row.id));
  const rest = before.filter((row) => !row.id || !news.has(row.id));
  return [...wanted, ...rest].sort((a, b) => (b.time ?? "").localeCompare(a.time ?? "")).slice(0, most);
}
