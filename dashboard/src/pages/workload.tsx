// One workload: its way through the federation as a graph, why each cluster was chosen or not, its overrides and timeline.
import { useEffect, useMemo, useState } from "preact/hooks";
import { asQuery, BASE, query, title } from "../api";
import { edgeId, GraphView, type Picked } from "../graph/view";
import { t } from "../i18n";
import { useLive } from "../live";
import { Diff } from "../parts/diff";
import { Drawer } from "../parts/drawer";
import { Show, useGet } from "../parts/load";
import { useNarrow } from "../parts/narrow";
import { ObjectYaml } from "../parts/object";
import { RefLink } from "../parts/reference";
import { Badge, WORDS } from "../parts/state";
import { Timeline } from "../parts/timeline";
import { Verdicts } from "../parts/verdicts";
import { place } from "../router";
import type { GraphNode, Ref, State, Workload as Data } from "../types";
import { Explained, pickedTitle } from "./explained";

export function Workload() {
  const { values } = place.value;
  const ref: Ref = {
    apiVersion: values.get("apiVersion") ?? "",
    kind: values.get("kind") ?? "",
    namespace: values.get("namespace") ?? "",
    name: values.get("name") ?? "",
  };
  const found = useGet<Data>("workload", asQuery(ref));
  const topic = `workload:${ref.apiVersion}/${ref.kind}/${ref.namespace}/${ref.name}`;
  useLive(
    [topic],
    (change) => {
      const whole = change.rows[0] as Partial<Data> | undefined;
      if (whole?.graph && whole.verdicts) found.set(() => whole as Data);
      else found.again();
    },
    found.again,
  );
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/workloads`}>{t("Workloads")}</a>
      </p>
      <Show from={found}>{(data) => <Detail data={data} />}</Show>
    </>
  );
}

/** How the whole of it is: as its worst part. */
function worst(nodes: GraphNode[]): State {
  return (["bad", "wait"] as const).find((state) => nodes.some((node) => node.state === state)) ?? "ok";
}

function Detail({ data }: { data: Data }) {
  const narrow = useNarrow();
  const state = worst(data.graph.nodes);
  const [picked, setPicked] = useState<Picked | null>(null);
  const [yaml, setYaml] = useState(false);
  const id = picked === null ? "" : "node" in picked ? picked.node.id : edgeId(picked.edge);
  // A picked node is shown as it is now, not as it was when it was clicked.
  const now = useMemo(() => {
    if (picked === null || !("node" in picked) || picked.node.folds) return picked;
    const node = data.graph.nodes.find((one) => one.id === picked.node.id);
    return node ? { node: { ...node, folds: 0 } } : null;
  }, [picked, data]);
  useEffect(() => setPicked(null), [data.ref.name, data.ref.namespace, data.ref.kind]);
  return (
    <>
      <div class="title-row">
        <h1>
          <span class="kind">{data.ref.kind}</span> {title(data.ref)} <Badge state={state} text={t(WORDS[state])} />
        </h1>
        <div class="buttons">
          <button type="button" onClick={() => setYaml(true)}>
            YAML
          </button>
          <a class="button" href={`${BASE}/editor${query(asQuery(data.ref))}`}>
            {t("Edit")}
          </a>
        </div>
      </div>
      {data.why.because.length > 0 && (
        <div class={`why w-${state}`}>
          {data.why.because.map((one) => (
            <p key={one}>{one}</p>
          ))}
          {data.why.remedy.map((one) => (
            <p key={one} class="remedy">
              {one}
            </p>
          ))}
        </div>
      )}
      <section class="card" aria-labelledby="h-way">
        <h2 id="h-way">{t("The way of this workload")}</h2>
        <GraphView nodes={data.graph.nodes} edges={data.graph.edges} picked={id} pick={setPicked} narrow={narrow} />
        {!narrow && <p class="dim hint">{t("Click a box or an arrow to see why.")}</p>}
      </section>
      <div class="cards">
        <section class="card" aria-labelledby="h-verdicts">
          <h2 id="h-verdicts">{t("Why these clusters")}</h2>
          <Verdicts all={data.verdicts} />
        </section>
        <section class="card" aria-labelledby="h-time">
          <h2 id="h-time">{t("Timeline")}</h2>
          <Timeline all={data.timeline} />
        </section>
        {data.overrides.length > 0 && (
          <section class="card span-all" aria-labelledby="h-over">
            <h2 id="h-over">{t("What overrides change")}</h2>
            {data.overrides.map((one, index) => (
              <div key={index} class="override">
                <p>
                  <strong>{one.cluster}</strong> {t("by")} <RefLink of={one.policy} />
                </p>
                <Diff text={one.diff} label={`${one.cluster}: ${one.policy.name}`} />
              </div>
            ))}
          </section>
        )}
      </div>
      {now && (
        <Drawer key={id} title={pickedTitle(now)} close={() => setPicked(null)}>
          <Explained picked={now} data={data} />
        </Drawer>
      )}
      {yaml && !now && (
        <Drawer title="YAML" close={() => setYaml(false)}>
          <ObjectYaml of={data.ref} />
        </Drawer>
      )}
    </>
  );
}
