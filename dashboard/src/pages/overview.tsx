// The federation at a glance: clusters with health, capacity, what moves, what is not well and why.
import { count } from "../format";
import { t } from "../i18n";
import { useLive } from "../live";
import { mergeOverview } from "../merge";
import { Bars } from "../parts/bars";
import { Show, useGet } from "../parts/load";
import { Moves } from "../parts/moves";
import { RefLink } from "../parts/reference";
import { Ring } from "../parts/ring";
import { NOT_WELL, severityState, StateIcon } from "../parts/state";
import { BASE } from "../api";
import type { Overview as Data, Problem, State } from "../types";

const SHOWN_PROBLEMS = 30;

export function Overview() {
  const found = useGet<Data>("overview");
  useLive(
    ["overview"],
    (change) => found.set((before) => mergeOverview(before, change)),
    found.again,
  );
  return (
    <Show from={found}>
      {(data) => (
        <>
          <h1>{t("Overview")}</h1>
          <Counts data={data} />
          <div class="overview">
            <section class="card span-2" aria-labelledby="h-map">
              <h2 id="h-map">{t("Clusters")}</h2>
              <Ring rows={data.clusters} moves={data.moves} />
            </section>
            <section class="card" aria-labelledby="h-problems">
              <h2 id="h-problems">{t("What is not well")}</h2>
              <Problems all={data.problems} />
            </section>
            <section class="card span-2" aria-labelledby="h-capacity">
              <h2 id="h-capacity">{t("Capacity of all clusters")}</h2>
              <Bars rows={data.clusters} />
            </section>
            <section class="card" aria-labelledby="h-moves">
              <h2 id="h-moves">{t("Latest moves")}</h2>
              <Moves moves={data.moves.slice(0, 10)} scroll />
            </section>
          </div>
        </>
      )}
    </Show>
  );
}

function Counts({ data }: { data: Data }) {
  const ready = data.clusters.filter((row) => row.ready === true).length;
  const { healthy, progressing, unhealthy } = data.workloads;
  return (
    <ul class="counts" aria-label={t("Overview")}>
      <Count to={ready === data.clusters.length ? "/clusters" : "/clusters?only=not-ready"} state={ready === data.clusters.length ? "ok" : "bad"} value={`${count(ready)} / ${count(data.clusters.length)}`} word={t("clusters ready")} />
      <Count to="/workloads?status=Healthy" state="ok" value={count(healthy)} word={t("workloads healthy")} />
      <Count to="/workloads?status=Progressing" state={progressing ? "wait" : "ok"} value={count(progressing)} word={t("workloads progressing")} />
      <Count to={`/workloads?status=${NOT_WELL}`} state={unhealthy ? "bad" : "ok"} value={count(unhealthy)} word={t("workloads unhealthy")} />
    </ul>
  );
}

function Count({ to, state, value, word }: { to: string; state: State; value: string; word: string }) {
  return (
    <li>
      <a class="count" href={BASE + to}>
        <StateIcon state={state} label="" />
        <span class="count-value">{value}</span>
        <span class="count-word">{word}</span>
      </a>
    </li>
  );
}

export function Problems({ all }: { all: (Problem | string)[] }) {
  if (!all.length) {
    return (
      <p class="all-well">
        <StateIcon state="ok" label="" /> {t("Everything is well.")}
      </p>
    );
  }
  return (
    <ul class="problems" tabIndex={0} aria-label={t("What is not well")}>
      {all.slice(0, SHOWN_PROBLEMS).map((one, index) => {
        const problem = typeof one === "string" ? { severity: "warning", object: null, sentence: one, remedy: "" } : one;
        return (
          <li key={index}>
            <StateIcon state={severityState(problem.severity)} />
            <div>
              {problem.object && <RefLink of={problem.object} />}
              <p>{problem.sentence}</p>
              {problem.remedy && <p class="remedy">{problem.remedy}</p>}
            </div>
          </li>
        );
      })}
      {all.length > SHOWN_PROBLEMS && <li class="dim">{t("{n} more", { n: all.length - SHOWN_PROBLEMS })}</li>}
    </ul>
  );
}
