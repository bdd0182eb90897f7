// Quantities of Kubernetes, read and shown. Pure.
import type { Amount } from "./types";

const SUFFIXES: Record<string, number> = {
  n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};

/** The number that a Kubernetes quantity means. */
export function amount(value: Amount | undefined): number {
  if (value === undefined) return 0;
  if (typeof value === "number") return value;
  const parts = /^([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)$/.exec(value);
  if (!parts) return 0;
  return Number(parts[1]) * (SUFFIXES[parts[2] ?? ""] ?? 1);
}

/** A quantity of a resource, short: bytes with binary units, the rest with at most two decimals. */
export function short(resource: string, value: number): string {
  if (resource === "memory" || resource.includes("storage")) {
    for (const unit of ["Ti", "Gi", "Mi", "Ki"]) {
      const size = SUFFIXES[unit] ?? 1;
      if (value >= size) return `${trim(value / size)} ${unit}`;
    }
  }
  return trim(value);
}

function trim(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 100) / 100);
}
