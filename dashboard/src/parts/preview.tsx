// Editing manifests with what would happen beside them: simulated while typing, checked by the server, then applied.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { post, session, title } from "../api";
import { Yaml } from "../editor/lazy";
import type { Mark } from "../editor/yaml";
import { t } from "../i18n";
import { Problems } from "../pages/overview";
import type { Applied, SimulationResult } from "../types";
import { ErrorBox } from "./load";
import { Moves } from "./moves";

const PAUSE = 700;

interface Props {
  first: string;
  label: string;
  applied?: () => void;
}

export function Preview({ first, label, applied }: Props) {
  const [text, setText] = useState(first);
  const [result, setResult] = useState<SimulationResult | null>(null);
  const [checked, setChecked] = useState<Applied[]>([]);
  const [done, setDone] = useState<Applied[] | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const [force, setForce] = useState(false);
  const [overtaken, setOvertaken] = useState(false);
  const base = useRef(first);
  const applying = useRef(false);
  // What somebody else has changed replaces the text only while nothing was typed.
  useEffect(() => {
    const mine = text !== base.current && !applying.current;
    base.current = first;
    applying.current = false;
    setOvertaken(mine);
    if (!mine) setText(first);
  }, [first]);
  const dirty = text !== first;

  const running = useRef<AbortController | null>(null);
  const simulate = useCallback(async (manifests: string, force: boolean) => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    const [found, moves] = await Promise.allSettled([
      post<Applied[]>("dry-run", { manifests, force }, abort.signal),
      post<SimulationResult>("simulate", { manifests, clustersDown: [] }, abort.signal),
    ]);
    if (abort.signal.aborted) return;
    setBusy(false);
    setChecked(found.status === "fulfilled" ? found.value : []);
    setResult(moves.status === "fulfilled" ? moves.value : null);
    // What cannot be simulated is often wrong in the first place: then the server's check says it better.
    const wrong = found.status === "fulfilled" && found.value.some((one) => one.errors.length);
    const failed = found.status === "rejected" ? found : moves.status === "rejected" && !wrong ? moves : null;
    setError(failed ? (failed.reason as Error) : null);
  }, []);
  useEffect(() => {
    if (!text.trim()) return;
    const timer = setTimeout(() => void simulate(text, force), PAUSE);
    return () => clearTimeout(timer);
  }, [text, force]);

  const apply = async () => {
    setBusy(true);
    applying.current = true;
    try {
      const found = await post<Applied[]>("apply", { manifests: text, force });
      setChecked(found);
      applying.current = found.every((one) => !one.errors.length);
      setError(null);
      if (found.every((one) => !one.errors.length)) {
        setDone(found);
        applied?.();
      }
    } catch (failed) {
      applying.current = false;
      setError(failed as Error);
    } finally {
      setBusy(false);
    }
  };
  const marks: Mark[] = checked.flatMap((one) => one.errors.map((err) => ({ line: err.line, text: err.field ? `${err.field}: ${err.message}` : err.message })));
  const contested = marks.some((mark) => /conflict|owns these fields/i.test(mark.text));
  const warnings = checked.flatMap((one) => one.warnings);
  const readOnly = session.value?.readOnly ?? false;
  return (
    <div class="preview">
      <div class="preview-editor">
        <Yaml
          text={text}
          label={label}
          marks={marks}
          changed={(next) => {
            setText(next);
            setDone(null);
          }}
          save={() => void apply()}
        />
      </div>
      <div class="preview-side">
        <div class="buttons">
          <button type="button" class="primary" disabled={busy || readOnly || marks.length > 0 || !text.trim()} onClick={() => void apply()}>
            {t("Apply")}
          </button>
          {dirty && first && (
            <button
              type="button"
              onClick={() => {
                setText(first);
                setOvertaken(false);
              }}
            >
              {t("Undo all changes")}
            </button>
          )}
          {readOnly && <span class="dim">{t("This dashboard is read-only.")}</span>}
          {busy && <span class="dim" role="status">{t("Checking…")}</span>}
        </div>
        {(force || contested) && (
          <label class="check">
            <input type="checkbox" checked={force} onChange={(event) => setForce(event.currentTarget.checked)} />
            {t("Take over fields that others manage")}
          </label>
        )}
        {overtaken && dirty && <p class="warning">{t("Somebody has changed it since you began to edit.")}</p>}
        {error && <ErrorBox error={error} />}
        {done && (
          <ul class="done" role="status">
            {done.map((one, index) => (
              <li key={index}>
                ✓ {one.ref.kind} {title(one.ref)}: {one.action}
              </li>
            ))}
          </ul>
        )}
        {marks.length > 0 && (
          <ul class="marks" role="alert">
            {marks.map((mark, index) => (
              <li key={index}>
                {mark.line ? `${t("Line {n}", { n: mark.line })}: ` : ""}
                {mark.text}
              </li>
            ))}
          </ul>
        )}
        {warnings.map((one, index) => (
          <p key={index} class="warning">
            {one}
          </p>
        ))}
        <h2>{t("What would happen")}</h2>
        {result ? (
          <>
            {result.problems.length > 0 && <Problems all={result.problems} />}
            <Moves moves={result.moves} plain />
          </>
        ) : (
          <p class="dim">{t("Edit to see what would move, before anything is written.")}</p>
        )}
      </div>
    </div>
  );
}
