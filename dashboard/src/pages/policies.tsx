// Policies with what they match now, and where two want the same object.
import { BASE, key, title } from "../api";
import { t } from "../i18n";
import { useRefetch } from "../live";
import { Show, useGet } from "../parts/load";
import { StateIcon } from "../parts/state";
import { address } from "../router";
import type { PolicyRow } from "../types";

export function Policies() {
  const found = useGet<PolicyRow[]>("policies");
  useRefetch(["policies"], found.again, 1000);
  return (
    <>
      <div class="title-row">
        <h1>{t("Policies")}</h1>
        <a class="button primary" href={`${BASE}/editor?new=policy`}>
          {t("New policy")}
        </a>
      </div>
      <Show from={found}>
        {(rows) =>
          rows.length ? (
            <ul class="policies">
              {rows.map((row) => (
                <Policy key={key(row.ref)} row={row} />
              ))}
            </ul>
          ) : (
            <p class="dim">{t("There is no policy yet: nothing is propagated.")}</p>
          )
        }
      </Show>
    </>
  );
}

function Policy({ row }: { row: PolicyRow }) {
  return (
    <li class="card policy">
      <header>
        <h2>
          <a href={address(row.ref)}>{title(row.ref)}</a>
        </h2>
        <span class="kind">{row.ref.kind}</span>
        <span class="chip">{t("matches {n}", { n: row.matches })}</span>
      </header>
      <dl class="pair">
        <dt>{t("Selects")}</dt>
        <dd>{row.selectors.join("; ") || "–"}</dd>
        <dt>{t("Places")}</dt>
        <dd>{row.placement || t("in all clusters")}</dd>
      </dl>
      <Conflicts all={row.conflicts} />
    </li>
  );
}

export function Conflicts({ all }: { all: PolicyRow["conflicts"] }) {
  return (
    <>
      {all.slice(0, 10).map((one, index) => (
        <div key={index} class="conflict">
          <StateIcon state="wait" label={t("Conflict")} />
          <p>
            {one.sentence}. <a href={address(one.with)}>{t("Open the policy")}</a>
          </p>
        </div>
      ))}
      {all.length > 10 && <p class="dim">{t("{n} more", { n: all.length - 10 })}</p>}
    </>
  );
}
