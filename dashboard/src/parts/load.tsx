// Reading from the back end for a page: loading, error with a way to try again, data.
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, type Query, Refused } from "../api";
import { t } from "../i18n";

export interface Loaded<T> {
  data: T | null;
  error: Error | null;
  set: (change: (before: T) => T) => void;
  again: () => void;
}

/** Reads a path, again whenever it or the values change; old data stays until new data is there. */
export function useGet<T>(path: string | null, values: Query = {}): Loaded<T> {
  const [data, setData] = useState<T | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [round, setRound] = useState(0);
  const asked = path === null ? "" : path + JSON.stringify(values);
  const shown = useRef("");
  const state = useRef({ busy: false, onceMore: false });
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    if (shown.current !== asked) setData(null);
    state.current = { busy: true, onceMore: false };
    get<T>(path, values, abort.signal)
      .then(
        (found) => {
          shown.current = asked;
          setData(found);
          setError(null);
        },
        (failed: Error) => {
          if (!abort.signal.aborted) setError(failed);
        },
      )
      .finally(() => {
        if (abort.signal.aborted) return;
        state.current.busy = false;
        if (state.current.onceMore) setRound((before) => before + 1);
      });
    return () => abort.abort();
  }, [asked, round]);
  const set = useCallback((change: (before: T) => T) => setData((before) => (before === null ? before : change(before))), []);
  // While a request is under way, wishes for another are gathered into one that follows it.
  const again = useCallback(() => {
    if (state.current.busy) state.current.onceMore = true;
    else setRound((before) => before + 1);
  }, []);
  return { data, error, set, again };
}

export function ErrorBox({ error, again }: { error: Error; again?: () => void }) {
  const forbidden = error instanceof Refused && error.code === 403;
  return (
    <div class="error-box" role="alert">
      <strong>{forbidden ? t("You may not do this") : t("This did not work")}</strong>
      <p>{error.message}</p>
      {forbidden && <p class="remedy">{t("Ask who administers the control plane for the right named above.")}</p>}
      {again && (
        <button type="button" onClick={again}>
          {t("Try again")}
        </button>
      )}
    </div>
  );
}

/** The data once it is there; an error beside old data does not hide it. */
export function Show<T>({ from, children }: { from: Loaded<T>; children: (data: T) => ComponentChildren }) {
  if (from.data !== null) {
    return (
      <>
        {from.error && <ErrorBox error={from.error} again={from.again} />}
        {children(from.data)}
      </>
    );
  }
  if (from.error) return <ErrorBox error={from.error} again={from.again} />;
  return (
    <p class="loading" role="status">
      {t("Loading…")}
    </p>
  );
}
