// Events of the control plane and its members, and members that differ from what was wanted.
import { useState } from "preact/hooks";
import { BASE, title } from "../api";
import { ago, clock } from "../format";
import { t } from "../i18n";
import { useLive, useRefetch } from "../live";
import { mergeEvents } from "../merge";
import { Show, useGet } from "../parts/load";
import { RefLink } from "../parts/reference";
import { StateIcon } from "../parts/state";
import { go, place } from "../router";
import type { DriftRow, EventRow } from "../types";

const SHOWN = 300;
const KEPT = 500;

export function Events() {
  const drift = place.value.path === "/drift";
  return (
    <>
      <h1>{t("Events and drift")}</h1>
      <nav class="tabs" aria-label={t("Events and drift")}>
        <a href={`${BASE}/events`} aria-current={drift ? undefined : "page"}>
          {t("Events")}
        </a>
        <a href={`${BASE}/drift`} aria-current={drift ? "page" : undefined}>
          {t("Drift")}
        </a>
      </nav>
      {drift ? <Drift /> : <All />}
    </>
  );
}

function All() {
  const { values } = place.value;
  const [text, setText] = useState("");
  const [namespace, cluster] = [values.get("namespace") ?? "", values.get("cluster") ?? ""];
  const found = useGet<EventRow[]>("events", { namespace, cluster });
  // Events of a member are not followed: they are read through the proxy, when asked for.
  useLive(
    cluster ? [] : ["events"],
    (change) => {
      if (change.snapshot) return;
      if (change.refetch) found.again();
      else found.set((rows) => mergeEvents(rows, change.rows as EventRow[], namespace, KEPT));
    },
    found.again,
  );
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(values);
    if (value) next.set(name, value);
    else next.delete(name);
    go(`/events${next.size ? `?${next}` : ""}`, true);
  };
  return (
    <>
      <div class="filters">
        <input type="search" class="filter" aria-label={t("Filter")} placeholder={t("Reason, object or message")} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <input aria-label={t("Namespace")} placeholder={t("Namespace")} value={namespace} onChange={(event) => set("namespace", event.currentTarget.value)} />
        <input aria-label={t("Cluster")} placeholder={t("Cluster")} value={cluster} onChange={(event) => set("cluster", event.currentTarget.value)} />
        <button type="button" onClick={found.again}>
          {t("Read again")}
        </button>
      </div>
      <Show from={found}>
        {(rows) => <EventList rows={rows.filter((row) => !text || [row.reason, row.message, row.object.name, row.cluster].some((one) => one?.toLowerCase().includes(text.toLowerCase())))} />}
      </Show>
    </>
  );
}

export function EventList({ rows }: { rows: EventRow[] }) {
  if (!rows.length) return <p class="dim">{t("No events.")}</p>;
  const order = [...rows].sort((a, b) => (b.time ?? "").localeCompare(a.time ?? "")).slice(0, SHOWN);
  return (
    <ul class="events">
      {order.map((row, index) => (
        <li key={row.id || index}>
          <StateIcon state={row.type === "Warning" ? "bad" : "ok"} label={row.type} />
          <div>
            <p>
              <strong>{row.reason}</strong> <span class="kind">{row.object.kind}</span> {title(row.object)} {row.cluster && <span class="chip">{row.cluster}</span>}{" "}
              {row.count > 1 && <span class="chip">×{row.count}</span>}
            </p>
            <p>{row.message}</p>
          </div>
          <time class="dim" title={clock(row.time)}>
            {ago(row.time)}
          </time>
        </li>
      ))}
    </ul>
  );
}

function Drift() {
  const found = useGet<DriftRow[]>("drift");
  // Members are asked about every copy for this: not more often than every ten seconds.
  useRefetch(["drift"], found.again, 10_000);
  return (
    <Show from={found}>
      {(rows) =>
        rows.length ? (
          <ul class="events">
            {rows.slice(0, SHOWN).map((row, index) => (
              <li key={index}>
                <StateIcon state="bad" />
                <div>
                  <p>
                    <RefLink of={row.ref} /> <span class="chip">{row.cluster}</span>
                  </p>
                  <p>{row.sentence}</p>
                </div>
              </li>
            ))}
          </ul>
        ) : (
          <p class="all-well">
            <StateIcon state="ok" label="" /> {t("Every member holds what was wanted.")}
          </p>
        )
      }
    </Show>
  );
}
