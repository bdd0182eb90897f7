// Replicas that move between clusters: before, after, and what changes.
import { title } from "../api";
import { ago } from "../format";
import { t } from "../i18n";
import { address } from "../router";
import type { Move } from "../types";

export interface Step {
  cluster: string;
  before: number;
  after: number;
}

/** The clusters whose share changes first, then the rest, each by name. */
export function steps(move: Move): Step[] {
  const names = [...new Set([...Object.keys(move.before ?? {}), ...Object.keys(move.after ?? {})])].sort();
  const all = names.map((cluster) => ({
    cluster,
    before: move.before?.[cluster] ?? 0,
    after: move.after?.[cluster] ?? 0,
  }));
  return [...all.filter((one) => one.before !== one.after), ...all.filter((one) => one.before === one.after)];
}

function Delta({ step }: { step: Step }) {
  const change = step.after - step.before;
  if (!change) return <span class="delta same">=</span>;
  return <span class={`delta ${change > 0 ? "up" : "down"}`}>{change > 0 ? `▲ +${change}` : `▼ −${-change}`}</span>;
}

const SHOWN = 8;

export function MoveCard({ move, plain = false }: { move: Move; plain?: boolean }) {
  const all = steps(move);
  return (
    <article class="move">
      <header>
        <span class="kind">{move.ref.kind}</span>{" "}
        {plain ? <strong>{title(move.ref)}</strong> : <a href={address(move.ref)}>{title(move.ref)}</a>}
        {move.time && <time class="dim">{ago(move.time)}</time>}
      </header>
      {all.length > 0 && (
        <ul class="steps">
          {all.slice(0, SHOWN).map((step) => (
            <li key={step.cluster}>
              <span class="step-name">{step.cluster}</span>
              <span class="num">
                {step.before} → {step.after}
              </span>
              <Delta step={step} />
            </li>
          ))}
          {all.length > SHOWN && <li class="dim">+{all.length - SHOWN}</li>}
        </ul>
      )}
      {move.sentence && <p>{move.sentence}</p>}
    </article>
  );
}

export function Moves({ moves, plain = false, scroll = false }: { moves: Move[]; plain?: boolean; scroll?: boolean }) {
  if (!moves.length) return <p class="dim">{t("Nothing moves.")}</p>;
  return (
    <div class={scroll ? "scroll" : ""} tabIndex={scroll ? 0 : undefined}>
      {moves.map((move, index) => (
        <MoveCard key={index} move={move} plain={plain} />
      ))}
    </div>
  );
}
