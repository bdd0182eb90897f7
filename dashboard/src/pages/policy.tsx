// One policy: what it matches, its conflicts, and an editor that shows what a change would do.
import { useMemo } from "preact/hooks";
import { asQuery, BASE, key, title } from "../api";
import { editable } from "../editor/print";
import { t } from "../i18n";
import { useRefetch } from "../live";
import { Show, useGet } from "../parts/load";
import { Preview } from "../parts/preview";
import { RefLink } from "../parts/reference";
import { place } from "../router";
import type { PolicyDetail } from "../types";
import { Conflicts } from "./policies";

const SHOWN = 50;

export function Policy() {
  const { values } = place.value;
  const found = useGet<PolicyDetail>("policy", Object.fromEntries(values));
  useRefetch(["policies"], found.again, 1000);
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/policies`}>{t("Policies")}</a>
      </p>
      <Show from={found}>{(data) => <Detail data={data} again={found.again} />}</Show>
    </>
  );
}

function Detail({ data, again }: { data: PolicyDetail; again: () => void }) {
  const text = useMemo(() => editable(data.object), [JSON.stringify(asQuery(data.ref)), JSON.stringify((data.object as { spec?: unknown }).spec)]);
  return (
    <>
      <h1>
        <span class="kind">{data.ref.kind}</span> {title(data.ref)}
      </h1>
      <dl class="pair">
        <dt>{t("Selects")}</dt>
        <dd>{data.selectors.join("; ")}</dd>
        <dt>{t("Places")}</dt>
        <dd>{data.placement || t("in all clusters")}</dd>
      </dl>
      <Conflicts all={data.conflicts} />
      <Preview first={text} label={`YAML ${data.ref.kind} ${data.ref.name}`} applied={again} />
      <section class="card" aria-labelledby="h-matched">
        <h2 id="h-matched">
          {t("Matches now")} <span class="chip">{data.matched.length}</span>
        </h2>
        <ul class="columns">
          {data.matched.slice(0, SHOWN).map((one) => (
            <li key={key(one)}>
              <RefLink of={one} />
            </li>
          ))}
          {data.matched.length > SHOWN && <li class="dim">{t("{n} more", { n: data.matched.length - SHOWN })}</li>}
        </ul>
      </section>
    </>
  );
}
