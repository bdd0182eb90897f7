// What would move if a cluster went down, a workload had other replicas, or a policy were changed. Nothing is written.
import { useEffect, useMemo, useState } from "preact/hooks";
import { asQuery, get, key, post, title } from "../api";
import { Yaml } from "../editor/lazy";
import { editable } from "../editor/print";
import { t } from "../i18n";
import { ErrorBox, useGet } from "../parts/load";
import { Moves } from "../parts/moves";
import { clusterState, StateIcon } from "../parts/state";
import { place } from "../router";
import type { ClusterRow, PolicyDetail, PolicyRow, SimulationResult, WorkloadPage } from "../types";
import { Problems } from "./overview";

const SHOWN = 40;

export function WhatIf() {
  const [down, setDown] = useState<string[]>(() => place.value.values.getAll("down"));
  const [changes, setChanges] = useState("");
  const [result, setResult] = useState<SimulationResult | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const empty = !down.length && !changes.trim();
  useEffect(() => {
    if (empty) {
      setResult(null);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      setBusy(true);
      try {
        setResult(await post<SimulationResult>("simulate", { manifests: changes, clustersDown: down }, abort.signal));
        setError(null);
      } catch (failed) {
        if (!abort.signal.aborted) setError(failed as Error);
      } finally {
        setBusy(false);
      }
    }, 400);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [down, changes]);
  return (
    <>
      <h1>{t("What if")}</h1>
      <p class="dim">{t("Change something in thought and see the moves before they happen. Nothing is written.")}</p>
      <div class="what-if">
        <div>
          <Down down={down} set={setDown} />
          <Change changes={changes} set={setChanges} />
        </div>
        <section class="card" aria-labelledby="h-then" aria-live="polite">
          <h2 id="h-then">{t("What would happen")}</h2>
          {error && <ErrorBox error={error} />}
          {busy && <p class="dim">{t("Checking…")}</p>}
          {empty && <p class="dim">{t("Take a cluster down or change an object on this page.")}</p>}
          {result && (
            <>
              {result.problems.length > 0 && <Problems all={result.problems} />}
              <Moves moves={result.moves} plain />
            </>
          )}
        </section>
      </div>
    </>
  );
}

function Down({ down, set }: { down: string[]; set: (names: string[]) => void }) {
  const found = useGet<ClusterRow[]>("clusters");
  const [filter, setFilter] = useState("");
  const rows = useMemo(
    () =>
      (found.data ?? [])
        .filter((row) => row.name.includes(filter))
        .sort((a, b) => Number(down.includes(b.name)) - Number(down.includes(a.name)))
        .slice(0, SHOWN),
    [found.data, filter, down],
  );
  return (
    <fieldset class="card">
      <legend>{t("These clusters go down")}</legend>
      {(found.data?.length ?? 0) > 8 && (
        <input type="search" class="filter" aria-label={t("Filter")} placeholder={t("Name")} value={filter} onInput={(event) => setFilter(event.currentTarget.value)} />
      )}
      <div class="checks">
        {rows.map((row) => (
          <label key={row.name} class="check">
            <input
              type="checkbox"
              checked={down.includes(row.name)}
              onChange={(event) => set(event.currentTarget.checked ? [...down, row.name] : down.filter((one) => one !== row.name))}
            />
            <StateIcon state={clusterState(row)} /> {row.name}
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** An object of the control plane as the start of a change: a policy for its weights, a workload for its replicas. */
function Change({ changes, set }: { changes: string; set: (text: string) => void }) {
  const policies = useGet<PolicyRow[]>("policies");
  const workloads = useGet<WorkloadPage>("workloads", { limit: 100 });
  const [error, setError] = useState<Error | null>(null);
  const refs = [...(policies.data ?? []).map((row) => row.ref), ...(workloads.data?.items ?? []).map((row) => row.ref)];
  const start = async (id: string) => {
    const ref = refs.find((one) => key(one) === id);
    if (!ref) return;
    try {
      const policy = ref.kind.endsWith("PropagationPolicy");
      const object = policy ? (await get<PolicyDetail>("policy", asQuery(ref))).object : await get<unknown>("object", asQuery(ref));
      set(`${changes.trim() ? `${changes.trimEnd()}\n---\n` : ""}${editable(object)}`);
      setError(null);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <section class="card" aria-labelledby="h-change">
      <h2 id="h-change">{t("These objects change")}</h2>
      <div class="filters">
        <select
          aria-label={t("Add an object to change")}
          value=""
          onChange={(event) => {
            void start(event.currentTarget.value);
            event.currentTarget.value = "";
          }}
        >
          <option value="">{t("Add an object to change")}</option>
          {refs.map((ref) => (
            <option key={key(ref)} value={key(ref)}>
              {ref.kind} {title(ref)}
            </option>
          ))}
        </select>
        {changes && (
          <button type="button" onClick={() => set("")}>
            {t("Clear")}
          </button>
        )}
      </div>
      {error && <ErrorBox error={error} />}
      <div class="what-if-editor">
        <Yaml text={changes} label={t("These objects change")} changed={set} />
      </div>
    </section>
  );
}
