// Decisions, moves and events of a workload, the latest first.
import { ago, clock } from "../format";
import { t } from "../i18n";
import type { Moment } from "../types";

const MARKS = { decision: "◆", move: "⇄", event: "•" } as const;
const WORDS = { decision: "Decision", move: "Move", event: "Event" } as const;
const SHOWN = 60;

export function Timeline({ all }: { all: Moment[] }) {
  if (!all.length) return <p class="dim">{t("Nothing has happened yet.")}</p>;
  const order = [...all].sort((a, b) => b.time.localeCompare(a.time)).slice(0, SHOWN);
  return (
    <ol class="timeline">
      {order.map((one, index) => (
        <li key={`${one.time} ${index}`} class={`k-${one.kind}`}>
          <span class="mark" role="img" aria-label={t(WORDS[one.kind] ?? "Event")}>
            {MARKS[one.kind] ?? "•"}
          </span>
          <div>
            <p>
              {one.cluster && <strong>{one.cluster}: </strong>}
              {one.sentence}
            </p>
            <time class="dim" title={clock(one.time)}>
              {ago(one.time)}
            </time>
          </div>
        </li>
      ))}
    </ol>
  );
}
