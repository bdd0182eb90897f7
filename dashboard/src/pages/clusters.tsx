// All clusters, filtered while typing, and the way to join another.
import { useMemo, useState } from "preact/hooks";
import { BASE } from "../api";
import { count } from "../format";
import { t } from "../i18n";
import { useLive } from "../live";
import { mergeClusters } from "../merge";
import { SmallBar } from "../parts/bars";
import { Drawer } from "../parts/drawer";
import { Show, useGet } from "../parts/load";
import { Ready } from "../parts/state";
import { Td, Th, VirtualTable } from "../parts/virtual";
import { place } from "../router";
import type { ClusterRow } from "../types";
import { Join } from "./join";

const NAMES = new Intl.Collator("en", { numeric: true });

export function Clusters() {
  const found = useGet<ClusterRow[]>("clusters");
  const [filter, setFilter] = useState("");
  const [only, setOnly] = useState(place.value.values.get("only") ?? "");
  const [joining, setJoining] = useState(false);
  useLive(
    ["clusters"],
    (change) => found.set((rows) => mergeClusters(change.snapshot ? [] : rows, change.rows as ClusterRow[], change.gone)),
    found.again,
  );
  const shown = useMemo(() => {
    const word = filter.toLowerCase();
    const rows = (found.data ?? []).filter(
      (row) =>
        (!only || (only === "ready") === (row.ready === true)) &&
        [row.name, row.region, row.zone, row.provider, row.version, row.mode].some((text) => text?.toLowerCase().includes(word)),
    );
    return rows.sort((a, b) => NAMES.compare(a.name, b.name));
  }, [found.data, filter, only]);
  return (
    <>
      <div class="title-row">
        <h1>{t("Clusters")}</h1>
        <button type="button" class="primary" onClick={() => setJoining(true)}>
          {t("Join a cluster")}
        </button>
      </div>
      <Show from={found}>
        {(rows) => (
          <>
            <div class="filters">
              <input
                type="search"
                class="filter"
                placeholder={t("Name, region, provider, version")}
                aria-label={t("Filter")}
                value={filter}
                onInput={(event) => setFilter(event.currentTarget.value)}
              />
              <select aria-label={t("Status")} value={only} onChange={(event) => setOnly(event.currentTarget.value)}>
                <option value="">{t("All")}</option>
                <option value="ready">{t("Ready")}</option>
                <option value="not-ready">{t("Not ready")}</option>
              </select>
              <span class="dim">{t("{n} of {all}", { n: count(shown.length), all: count(rows.length) })}</span>
            </div>
            <VirtualTable
              label={t("Clusters")}
              kind="clusters"
              rows={shown}
              height={52}
              id={(row) => row.name}
              head={<Head />}
              row={(row) => <Row row={row} />}
            />
          </>
        )}
      </Show>
      {joining && (
        <Drawer title={t("Join a cluster")} close={() => setJoining(false)}>
          <Join />
        </Drawer>
      )}
    </>
  );
}

function Head() {
  return (
    <>
      <Th>{t("Name")}</Th>
      <Th>{t("Status")}</Th>
      <Th>{t("Place")}</Th>
      <Th>{t("Nodes")}</Th>
      <Th>CPU</Th>
      <Th>{t("Memory")}</Th>
      <Th>{t("Workloads")}</Th>
    </>
  );
}

function Row({ row }: { row: ClusterRow }) {
  const spot = [row.provider, row.region, row.zone].filter(Boolean).join(" · ");
  return (
    <>
      <Td kind="name">
        <a href={`${BASE}/clusters/${encodeURIComponent(row.name)}`}>{row.name}</a>
        <span class="dim">
          {row.mode} · {row.version}
        </span>
      </Td>
      <Td kind="status" title={row.message}>
        <Ready row={row} />
        {row.ready !== true && <span class="reason">{row.message || row.reason}</span>}
      </Td>
      <Td kind="dim" title={spot}>
        {spot || "–"}
      </Td>
      <Td>
        {row.nodes.ready} / {row.nodes.total}
      </Td>
      <Td>
        <SmallBar row={row} resource="cpu" />
      </Td>
      <Td>
        <SmallBar row={row} resource="memory" />
      </Td>
      <Td>{count(row.workloads)}</Td>
    </>
  );
}
