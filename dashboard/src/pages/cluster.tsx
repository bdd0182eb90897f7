// One cluster: conditions, capacity, models, taints, labels, nodes, events.
import { amount, ago, clock, short } from "../format";
import { t } from "../i18n";
import { useLive } from "../live";
import { Bars } from "../parts/bars";
import { Show, useGet } from "../parts/load";
import { EventList } from "./events";
import { Nodes } from "./nodes";
import { Ready, StateIcon } from "../parts/state";
import { BASE } from "../api";
import type { ClusterDetail, ClusterRow, Condition, Model, State } from "../types";

export function Cluster({ name }: { name: string }) {
  const found = useGet<ClusterDetail>(`clusters/${encodeURIComponent(name)}`);
  useLive(
    ["clusters"],
    (change) => {
      if (!change.snapshot && (change.rows as ClusterRow[]).some((row) => row.name === name)) found.again();
    },
    found.again,
  );
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/clusters`}>{t("Clusters")}</a>
      </p>
      <Show from={found}>{(data) => <Detail data={data} />}</Show>
    </>
  );
}

function Detail({ data }: { data: ClusterDetail }) {
  const facts: [string, string][] = [
    [t("Connection"), data.mode],
    [t("Version"), data.version],
    [t("Place"), [data.provider, data.region, data.zone].filter(Boolean).join(" · ")],
    [t("Nodes"), `${data.nodes.ready} / ${data.nodes.total}`],
    [t("APIs"), String(data.apis ?? "")],
  ];
  return (
    <>
      <div class="title-row">
        <h1>
          {data.name} <Ready row={data} />
        </h1>
        <a class="button" href={`${BASE}/what-if?down=${encodeURIComponent(data.name)}`}>
          {t("What if it goes down?")}
        </a>
      </div>
      {data.ready !== true && (
        <div class="error-box" role="status">
          <strong>{data.reason || t("Not ready")}</strong>
          <p>{data.message}</p>
        </div>
      )}
      <dl class="facts">
        {facts.map(([word, value]) => (
          <div key={word}>
            <dt>{word}</dt>
            <dd>{value || "–"}</dd>
          </div>
        ))}
        <div>
          <dt>{t("Workloads")}</dt>
          <dd>
            {data.workloads ? <a href={`${BASE}/workloads?cluster=${encodeURIComponent(data.name)}`}>{data.workloads}</a> : 0}
          </dd>
        </div>
      </dl>
      <div class="cards">
        <section class="card" aria-labelledby="h-cap">
          <h2 id="h-cap">{t("Capacity")}</h2>
          <Bars rows={[data]} most={8} />
        </section>
        <section class="card" aria-labelledby="h-cond">
          <h2 id="h-cond">{t("Conditions")}</h2>
          <ul class="conditions">
            {(data.conditions ?? []).map((one) => (
              <li key={one.type}>
                <StateIcon state={conditionState(one)} label={one.status} />
                <div>
                  <strong>{one.type}</strong> <span class="dim">{one.reason}</span>
                  <p>{one.message}</p>
                  {one.lastTransitionTime && (
                    <time class="dim" title={clock(one.lastTransitionTime)}>
                      {ago(one.lastTransitionTime)}
                    </time>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </section>
        <section class="card" aria-labelledby="h-taints">
          <h2 id="h-taints">{t("Taints and labels")}</h2>
          {data.taints.length ? (
            <ul class="chips">
              {data.taints.map((one) => (
                <li key={one} class="chip warn">
                  {one}
                </li>
              ))}
            </ul>
          ) : (
            <p class="dim">{t("No taints: everything may be placed here.")}</p>
          )}
          <ul class="chips">
            {Object.entries(data.labels ?? {}).map(([name, value]) => (
              <li key={name} class="chip">
                {name}={value}
              </li>
            ))}
          </ul>
        </section>
        <section class="card" aria-labelledby="h-models">
          <h2 id="h-models">{t("Resource models")}</h2>
          <Models models={data.models ?? []} />
        </section>
        <section class="card span-all" aria-labelledby="h-nodes">
          <h2 id="h-nodes">{t("Nodes")}</h2>
          <Nodes cluster={data.name} />
        </section>
        <section class="card span-all" aria-labelledby="h-events">
          <h2 id="h-events">{t("Events")}</h2>
          <EventList rows={data.events ?? []} />
        </section>
      </div>
    </>
  );
}

function conditionState(one: Condition): State {
  if (one.status === "Unknown") return "wait";
  const wanted = one.type === "Ready" || one.type === "CompleteAPIEnablements" ? "True" : /Ready|Complete|Healthy/.test(one.type) ? "True" : "False";
  return one.status === wanted ? "ok" : "bad";
}

function Models({ models }: { models: Model[] }) {
  const used = models.filter((one) => one.count);
  if (!models.length) return <p class="dim">{t("No resource models are set.")}</p>;
  return (
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">{t("Grade")}</th>
          <th scope="col">{t("Node size")}</th>
          <th scope="col">{t("Nodes")}</th>
        </tr>
      </thead>
      <tbody>
        {(used.length ? used : models).map((one, index) => (
          <tr key={index}>
            <td>{one.grade ?? index}</td>
            <td>{(one.ranges ?? []).map((range) => `${range.name} ${short(range.name, amount(range.min))}–${upper(range.name, amount(range.max))}`).join(", ")}</td>
            <td>{one.count ?? 0}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function upper(resource: string, value: number): string {
  return value >= 2 ** 62 ? "∞" : short(resource, value);
}
