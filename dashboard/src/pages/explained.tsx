// What the side panel says of a node or an arrow of the graph.
import { useState } from "preact/hooks";
import { BASE } from "../api";
import { type Picked, TYPES } from "../graph/view";
import { t } from "../i18n";
import { Diff } from "../parts/diff";
import { ObjectYaml } from "../parts/object";
import { RefLink } from "../parts/reference";
import { StateIcon } from "../parts/state";
import { Timeline } from "../parts/timeline";
import { Verdicts } from "../parts/verdicts";
import { address, podAddress } from "../router";
import type { GraphNode, Workload } from "../types";

export function pickedTitle(picked: Picked): string {
  if ("node" in picked) return `${t(TYPES[picked.node.type])}: ${picked.node.label}`;
  return `${picked.from.label} → ${picked.to.label}`;
}

export function Explained({ picked, data }: { picked: Picked; data: Workload }) {
  if ("edge" in picked) {
    return (
      <>
        <p class="sentence">
          <StateIcon state={picked.edge.state} /> {picked.edge.label || picked.to.sentence}
        </p>
        <dl class="ends">
          <dt>{t("From")}</dt>
          <dd>
            {t(TYPES[picked.from.type])} <strong>{picked.from.label}</strong>
            <p class="dim">{picked.from.sentence}</p>
          </dd>
          <dt>{t("To")}</dt>
          <dd>
            {t(TYPES[picked.to.type])} <strong>{picked.to.label}</strong>
            <p class="dim">{picked.to.sentence}</p>
          </dd>
        </dl>
        <About node={picked.to} data={data} />
      </>
    );
  }
  const { node } = picked;
  if (node.folds) {
    const names = new Set(data.graph.nodes.filter((one) => one.type === "cluster" && one.state === "off").map((one) => one.cluster ?? one.label));
    return <Verdicts all={data.verdicts.filter((one) => !one.chosen && (names.size === 0 || names.has(one.cluster)))} />;
  }
  return (
    <>
      {node.state !== "off" && (
        <p class="sentence">
          <StateIcon state={node.state} /> {node.sentence}
        </p>
      )}
      <About node={node} data={data} />
    </>
  );
}

function About({ node, data }: { node: GraphNode; data: Workload }) {
  const [yaml, setYaml] = useState(false);
  const name = node.cluster ?? (node.type === "cluster" ? node.label : "");
  const verdicts = node.type === "cluster" ? data.verdicts.filter((one) => one.cluster === name) : [];
  const overrides = node.type === "override" ? data.overrides.filter((one) => !name || one.cluster === name) : [];
  const moments = name ? data.timeline.filter((one) => one.cluster === name) : [];
  const remote = node.type === "object" || node.type === "pod" ? node.cluster : undefined;
  return (
    <>
      {verdicts.length > 0 && <Verdicts all={verdicts} plain />}
      {overrides.map((one, index) => (
        <div key={index} class="override">
          <p>
            <strong>{one.cluster}</strong> {t("by")} <RefLink of={one.policy} />
          </p>
          <Diff text={one.diff} label={one.cluster} />
        </div>
      ))}
      <div class="buttons">
        {node.type === "cluster" && (
          <a class="button" href={`${BASE}/clusters/${encodeURIComponent(name)}`}>
            {t("Open the cluster")}
          </a>
        )}
        {node.type === "policy" && node.ref && (
          <a class="button" href={address(node.ref)}>
            {t("Open the policy")}
          </a>
        )}
        {node.type === "pod" && node.ref && node.cluster && (
          <>
            <a class="button" href={podAddress(node.cluster, node.ref.namespace ?? "", node.ref.name, "logs")}>
              {t("Logs")}
            </a>
            <a class="button" href={podAddress(node.cluster, node.ref.namespace ?? "", node.ref.name, "terminal")}>
              {t("Terminal")}
            </a>
          </>
        )}
        {node.ref && (
          <button type="button" aria-expanded={yaml} onClick={() => setYaml(!yaml)}>
            YAML
          </button>
        )}
      </div>
      {yaml && node.ref && <ObjectYaml of={node.ref} cluster={remote} />}
      {moments.length > 0 && (
        <>
          <h3>{t("Timeline")}</h3>
          <Timeline all={moments} />
        </>
      )}
    </>
  );
}
