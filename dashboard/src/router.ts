// Paths of pages under /dashboard, by the browser's history.
import { signal } from "@preact/signals";
import type { Ref } from "./types";
import { asQuery, BASE, query } from "./api";

export interface Place {
  path: string;
  values: URLSearchParams;
}

function here(): Place {
  const path = location.pathname.slice(BASE.length).replace(/\/+$/, "") || "/";
  return { path, values: new URLSearchParams(location.search) };
}

export const place = signal<Place>(here());

addEventListener("popstate", () => {
  place.value = here();
});

export function go(path: string, replace = false): void {
  const address = BASE + path;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  const before = place.value.path;
  place.value = here();
  if (before !== place.value.path) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

/** Links within the dashboard are followed without loading the page anew. */
export function follow(event: MouseEvent): void {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const anchor = (event.target as Element).closest("a");
  if (!anchor || anchor.target || anchor.origin !== location.origin || !anchor.pathname.startsWith(`${BASE}/`)) return;
  if (anchor.pathname.startsWith(`${BASE}/api/`)) return;
  event.preventDefault();
  go(anchor.pathname.slice(BASE.length) + anchor.search);
}

const KINDS: Record<string, string> = {
  Cluster: "cluster",
  PropagationPolicy: "policy",
  ClusterPropagationPolicy: "policy",
};

/** Where an object is shown. */
export function address(ref: Ref): string {
  const page = KINDS[ref.kind];
  if (page === "cluster") return `${BASE}/clusters/${encodeURIComponent(ref.name)}`;
  if (page === "policy") return `${BASE}/policy${query(asQuery(ref))}`;
  return `${BASE}/workload${query(asQuery(ref))}`;
}

export function podAddress(cluster: string, namespace: string, pod: string, view: "logs" | "terminal"): string {
  return `${BASE}/pods/${[cluster, namespace, pod].map(encodeURIComponent).join("/")}/${view}`;
}
