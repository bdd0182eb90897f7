// All workloads: filtered by the server, loaded page by page while scrolling, changed rows replaced as they come.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, key, title } from "../api";
import { count } from "../format";
import { t } from "../i18n";
import { useLive } from "../live";
import { mergeRows } from "../merge";
import { ErrorBox } from "../parts/load";
import { NOT_WELL, Status, STATUSES } from "../parts/state";
import { Td, Th, VirtualTable } from "../parts/virtual";
import { address, go, place } from "../router";
import type { WorkloadPage, WorkloadRow, WorkloadStatus } from "../types";

const PAGE = 500;
const KINDS = ["Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Service", "ConfigMap", "Secret"];

interface List extends WorkloadPage {
  asked: string;
}

export function Workloads() {
  const { values } = place.value;
  const wanted = Object.fromEntries(["q", "namespace", "cluster", "kind", "status"].map((name) => [name, values.get(name) ?? ""]));
  const asked = JSON.stringify(wanted);
  const [list, setList] = useState<List | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  const busy = useRef(false);
  const filtered = Object.values(wanted).some(Boolean);
  useEffect(() => {
    const abort = new AbortController();
    busy.current = true;
    get<WorkloadPage>("workloads", { ...wanted, limit: PAGE }, abort.signal).then(
      (page) => {
        busy.current = false;
        setList({ ...page, asked });
        setError(null);
      },
      (failed: Error) => {
        busy.current = false;
        if (!abort.signal.aborted) setError(failed);
      },
    );
    return () => abort.abort();
  }, [asked, round]);
  const again = useCallback(() => setRound((before) => before + 1), []);
  const later = useRef(0);
  useLive(
    ["workloads"],
    (change) => {
      const rows = change.rows as WorkloadRow[];
      setList((before) => before && { ...before, items: mergeRows(before.items, rows, change.gone, !filtered && !before.continue) });
      if (!change.snapshot && (filtered || change.gone.length)) {
        clearTimeout(later.current);
        later.current = window.setTimeout(again, 1000);
      }
    },
    again,
  );
  const more = () => {
    if (!list?.continue || busy.current || list.asked !== asked) return;
    busy.current = true;
    get<WorkloadPage>("workloads", { ...wanted, limit: PAGE, continue: list.continue })
      .then((page) => setList((before) => before && { ...page, asked, items: [...before.items, ...page.items] }), setError)
      .finally(() => {
        busy.current = false;
      });
  };
  const set = (name: string, value: string) => {
    const next = new URLSearchParams(place.value.values);
    if (value) next.set(name, value);
    else next.delete(name);
    go(`/workloads${next.size ? `?${next}` : ""}`, true);
  };
  return (
    <>
      <h1>{t("Workloads")}</h1>
      <div class="filters">
        <Typed name="q" label={t("Filter")} hint={t("Name")} value={wanted["q"] ?? ""} set={set} main />
        <Typed name="namespace" label={t("Namespace")} hint={t("Namespace")} value={wanted["namespace"] ?? ""} set={set} />
        <Typed name="cluster" label={t("Cluster")} hint={t("Cluster")} value={wanted["cluster"] ?? ""} set={set} />
        <select aria-label={t("Kind")} value={wanted["kind"]} onChange={(event) => set("kind", event.currentTarget.value)}>
          <option value="">{t("All kinds")}</option>
          {KINDS.map((kind) => (
            <option key={kind}>{kind}</option>
          ))}
        </select>
        <select aria-label={t("Status")} value={wanted["status"]} onChange={(event) => set("status", event.currentTarget.value)}>
          <option value="">{t("All states")}</option>
          <option value={NOT_WELL}>{t("Not well")}</option>
          {(Object.keys(STATUSES) as WorkloadStatus[]).map((status) => (
            <option key={status} value={status}>
              {t(STATUSES[status].word)}
            </option>
          ))}
        </select>
        {list && <span class="dim">{t("{n} workloads", { n: count(Math.max(list.total, list.items.length)) })}</span>}
      </div>
      {error && <ErrorBox error={error} again={again} />}
      {!list && !error && <p class="loading">{t("Loading…")}</p>}
      {list && list.items.length === 0 && <p class="dim">{t("No workload matches.")}</p>}
      {list && list.items.length > 0 && (
        <VirtualTable
          label={t("Workloads")}
          kind="workloads"
          rows={list.items}
          height={52}
          id={(row) => key(row.ref)}
          head={
            <>
              <Th>{t("Name")}</Th>
              <Th>{t("Status")}</Th>
              <Th>{t("Ready")}</Th>
              <Th>{t("Clusters")}</Th>
              <Th>{t("Policy")}</Th>
            </>
          }
          row={(row) => <Row row={row} />}
          end={more}
        />
      )}
    </>
  );
}

function Typed({ name, label, hint, value, set, main = false }: { name: string; label: string; hint: string; value: string; set: (name: string, value: string) => void; main?: boolean }) {
  const [text, setText] = useState(value);
  const timer = useRef(0);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type="search"
      class={main ? "filter" : ""}
      aria-label={label}
      placeholder={hint}
      value={text}
      onInput={(event) => {
        const typed = event.currentTarget.value;
        setText(typed);
        clearTimeout(timer.current);
        timer.current = window.setTimeout(() => set(name, typed), 250);
      }}
    />
  );
}

const SHOWN_CLUSTERS = 3;

function Row({ row }: { row: WorkloadRow }) {
  const rest = row.clusters.length - SHOWN_CLUSTERS;
  return (
    <>
      <Td kind="name">
        <a href={address(row.ref)} title={title(row.ref)}>
          {row.ref.name}
        </a>
        <span class="dim">
          {row.ref.kind}
          {row.ref.namespace ? ` · ${row.ref.namespace}` : ""}
        </span>
      </Td>
      <Td kind="status" title={row.sentence}>
        <Status status={row.status} />
        {row.status !== "Healthy" && <span class="reason">{row.sentence}</span>}
      </Td>
      <Td>{row.desired === null ? "–" : `${row.ready ?? 0} / ${row.desired}`}</Td>
      <Td kind="shares">
        {row.clusters.slice(0, SHOWN_CLUSTERS).map((one) => (
          <span key={one.name} class={`share ${/unhealthy/i.test(one.health ?? "") ? "bad" : ""}`}>
            {one.name}
            {one.replicas ? <b> {one.replicas}</b> : null}
          </span>
        ))}
        {rest > 0 && <span class="dim">+{rest}</span>}
      </Td>
      <Td kind="dim">{row.policy ? <a href={address(row.policy)}>{row.policy.name}</a> : "–"}</Td>
    </>
  );
}
