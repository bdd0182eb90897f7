// What the scheduler said of each cluster; every no with its reason and remedy.
import { useState } from "preact/hooks";
import { t } from "../i18n";
import type { Verdict } from "../types";
import { StateIcon } from "./state";

const SHOWN = 8;

export function Verdicts({ all, plain = false }: { all: Verdict[]; plain?: boolean }) {
  const [whole, setWhole] = useState(false);
  if (!all.length) return <p class="dim">{t("The scheduler has not decided yet.")}</p>;
  const order = [...all].sort((a, b) => Number(b.chosen) - Number(a.chosen));
  const shown = whole ? order : order.slice(0, SHOWN);
  return (
    <ul class="verdicts">
      {shown.map((one) => (
        <li key={one.cluster} class={one.chosen ? "chosen" : "rejected"}>
          <StateIcon state={one.chosen ? "ok" : "off"} label={one.chosen ? t("chosen") : t("not chosen")} />
          <div>
            <p>
              {!plain && <strong>{one.cluster} </strong>}
              <span>{one.chosen ? t("chosen") : t("not chosen")}</span>
              {one.replicas !== null && one.chosen && one.replicas > 0 && <span class="chip">{t("{n} replicas", { n: one.replicas })}</span>}
              {one.score !== null && one.score !== undefined && <span class="chip">{t("score {n}", { n: one.score })}</span>}
            </p>
            {one.reasons.map((reason) => (
              <div key={reason.sentence}>
                <p class={one.chosen ? "dim" : ""}>{reason.sentence}</p>
                {reason.remedy && <p class="remedy">{reason.remedy}</p>}
              </div>
            ))}
          </div>
        </li>
      ))}
      {!whole && order.length > SHOWN && (
        <li>
          <button type="button" onClick={() => setWhole(true)}>
            {t("{n} more", { n: order.length - SHOWN })}
          </button>
        </li>
      )}
    </ul>
  );
}
