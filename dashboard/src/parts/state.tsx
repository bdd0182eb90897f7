// States by shape, colour and word together: never by colour alone.
import { t } from "../i18n";
import type { ClusterRow, State, WorkloadStatus } from "../types";

const SHAPES: Record<State, preact.JSX.Element> = {
  ok: (
    <>
      <circle cx="8" cy="8" r="7" class="shape" />
      <path d="M4.8 8.3l2.2 2.2 4.2-4.6" class="mark" />
    </>
  ),
  wait: (
    <>
      <circle cx="8" cy="8" r="6" class="hollow" />
      <path d="M8 4.5V8l2.4 1.6" class="hand" />
    </>
  ),
  bad: (
    <>
      <path d="M8 .8l7.4 13.4H.6z" class="shape" />
      <path d="M8 5.6v4M8 11.6v.6" class="mark" />
    </>
  ),
  off: (
    <>
      <rect x="1.8" y="1.8" width="12.4" height="12.4" rx="2" class="hollow" />
      <path d="M5 8h6" class="hand" />
    </>
  ),
};

export const WORDS = { ok: "Well", wait: "In progress", bad: "Not well", off: "Not chosen" } as const;

/** The shape of a state; with an empty label it is left to the text beside it to say the state. */
export function StateIcon({ state, label }: { state: State; label?: string }) {
  const named = label === "" ? ({ "aria-hidden": "true" } as const) : ({ role: "img", "aria-label": label ?? t(WORDS[state]) } as const);
  return (
    <svg class={`state-icon s-${state}`} viewBox="0 0 16 16" {...named}>
      {SHAPES[state]}
    </svg>
  );
}

export function Badge({ state, text }: { state: State; text: string }) {
  return (
    <span class={`badge b-${state}`}>
      <StateIcon state={state} label="" />
      {text}
    </span>
  );
}

export const STATUSES: Record<WorkloadStatus, { state: State; word: "Healthy" | "Progressing" | "Unhealthy" | "Unscheduled" | "No policy" }> = {
  Healthy: { state: "ok", word: "Healthy" },
  Progressing: { state: "wait", word: "Progressing" },
  Unhealthy: { state: "bad", word: "Unhealthy" },
  Unscheduled: { state: "bad", word: "Unscheduled" },
  NoPolicy: { state: "off", word: "No policy" },
};

/** The states that the overview counts as unhealthy, as a filter. */
export const NOT_WELL = "Unhealthy,Unscheduled,NoPolicy";

export function Status({ status }: { status: WorkloadStatus }) {
  const known = STATUSES[status] ?? STATUSES.Progressing;
  return <Badge state={known.state} text={t(known.word)} />;
}

export function clusterState(row: Pick<ClusterRow, "ready">): State {
  return row.ready === true ? "ok" : row.ready === false ? "bad" : "wait";
}

export function Ready({ row }: { row: ClusterRow }) {
  const word = row.ready === true ? "Ready" : row.ready === false ? "Not ready" : "Unknown";
  return <Badge state={clusterState(row)} text={t(word)} />;
}

export function severityState(severity: string): State {
  return /err|crit|bad|high|fatal/i.test(severity) ? "bad" : /warn|wait|medium/i.test(severity) ? "wait" : "off";
}
