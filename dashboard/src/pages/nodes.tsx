// The nodes of a cluster, read in the member itself: with the rights that the user has there.
import { amount, short } from "../format";
import { t } from "../i18n";
import { Show, useGet } from "../parts/load";
import { Badge } from "../parts/state";
import type { NodeRow } from "../types";

export function Nodes({ cluster }: { cluster: string }) {
  const found = useGet<{ items: NodeRow[]; more: boolean }>(`clusters/${encodeURIComponent(cluster)}/nodes`);
  return (
    <Show from={found}>
      {(data) => (
        <div class="wide-table" tabIndex={0} role="group" aria-labelledby="h-nodes">
          <table class="plain">
            <thead>
              <tr>
                <th scope="col">{t("Name")}</th>
                <th scope="col">{t("Status")}</th>
                <th scope="col">{t("Version")}</th>
                <th scope="col">CPU</th>
                <th scope="col">{t("Memory")}</th>
                <th scope="col">Pods</th>
              </tr>
            </thead>
            <tbody>
              {data.items.map((one) => (
                <Node key={one.name} of={one} />
              ))}
            </tbody>
          </table>
          {data.items.length === 0 && <p class="dim">{t("The cluster has no nodes.")}</p>}
          {data.more && <p class="dim">{t("There are more nodes than are shown.")}</p>}
        </div>
      )}
    </Show>
  );
}

function Node({ of }: { of: NodeRow }) {
  const state = of.ready === true ? (of.schedulable && !of.message ? "ok" : "wait") : of.ready === false ? "bad" : "wait";
  const word = of.ready === true ? (of.schedulable ? "Ready" : "Cordoned") : of.ready === false ? "Not ready" : "Unknown";
  return (
    <tr>
      <th scope="row">
        {of.name}
        {of.roles.map((role) => (
          <span key={role} class="chip">
            {role}
          </span>
        ))}
        {of.taints.map((taint) => (
          <span key={taint} class="chip warn">
            {taint}
          </span>
        ))}
      </th>
      <td>
        <Badge state={state} text={t(word)} />
        {of.message && <span class="dim"> {of.message}</span>}
      </td>
      <td>{of.version || "–"}</td>
      {["cpu", "memory", "pods"].map((resource) => (
        <td key={resource}>{of.allocatable[resource] ? short(resource, amount(of.allocatable[resource])) : "–"}</td>
      ))}
    </tr>
  );
}
