// The log of a pod in a member, followed as it is written.
import { useEffect, useRef, useState } from "preact/hooks";
import { BASE, get, stream } from "../api";
import { t } from "../i18n";
import { ErrorBox } from "../parts/load";
import { podAddress } from "../router";

const KEPT = 5000;

export interface PodPlace {
  cluster: string;
  namespace: string;
  pod: string;
}

interface PodObject {
  spec?: { containers?: { name: string }[]; initContainers?: { name: string }[] };
}

export function useContainers({ cluster, namespace, pod }: PodPlace): string[] {
  const [names, setNames] = useState<string[]>([]);
  useEffect(() => {
    get<PodObject>("object", { apiVersion: "v1", kind: "Pod", namespace, name: pod, cluster }).then(
      (found) => setNames([...(found.spec?.containers ?? []), ...(found.spec?.initContainers ?? [])].map((one) => one.name)),
      () => setNames([]),
    );
  }, [cluster, namespace, pod]);
  return names;
}

export function PodTitle({ at, view }: { at: PodPlace; view: "logs" | "terminal" }) {
  return (
    <>
      <p class="crumbs">
        <a href={`${BASE}/clusters/${encodeURIComponent(at.cluster)}`}>{at.cluster}</a>
      </p>
      <h1>
        <span class="kind">Pod</span> {at.namespace}/{at.pod}
      </h1>
      <nav class="tabs" aria-label="Pod">
        <a href={podAddress(at.cluster, at.namespace, at.pod, "logs")} aria-current={view === "logs" ? "page" : undefined}>
          {t("Logs")}
        </a>
        <a href={podAddress(at.cluster, at.namespace, at.pod, "terminal")} aria-current={view === "terminal" ? "page" : undefined}>
          {t("Terminal")}
        </a>
      </nav>
    </>
  );
}

export function Logs(at: PodPlace) {
  const containers = useContainers(at);
  const [container, setContainer] = useState("");
  const [follow, setFollow] = useState(true);
  const [text, setText] = useState("");
  const [lines, setLines] = useState<string[]>([]);
  const [ended, setEnded] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const abort = new AbortController();
    setLines([]);
    setEnded(false);
    setError(null);
    void read(at, { container, follow, tail: 500 }, abort, (fresh) => setLines((before) => [...before, ...fresh].slice(-KEPT))).then(
      () => setEnded(true),
      (failed: Error) => {
        if (!abort.signal.aborted) setError(failed);
      },
    );
    return () => abort.abort();
  }, [at.cluster, at.namespace, at.pod, container, follow]);
  useEffect(() => {
    if (follow && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const shown = text ? lines.filter((line) => line.toLowerCase().includes(text.toLowerCase())) : lines;
  return (
    <>
      <PodTitle at={at} view="logs" />
      <div class="filters">
        {containers.length > 1 && (
          <select aria-label={t("Container")} value={container} onChange={(event) => setContainer(event.currentTarget.value)}>
            {containers.map((name, index) => (
              <option key={name} value={index ? name : ""}>
                {name}
              </option>
            ))}
          </select>
        )}
        <label class="check">
          <input type="checkbox" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
          {t("Follow")}
        </label>
        <input type="search" class="filter" aria-label={t("Filter")} placeholder={t("Filter lines")} value={text} onInput={(event) => setText(event.currentTarget.value)} />
        <span class="dim" role="status">
          {follow && !ended && !error ? t("Following") : ended ? t("End of the log") : ""}
        </span>
      </div>
      {error && <ErrorBox error={error} />}
      <pre class="log" ref={box} tabIndex={0} role="log" aria-label={t("Logs")}>
        {shown.join("\n")}
      </pre>
    </>
  );
}

async function read(at: PodPlace, values: { container: string; follow: boolean; tail: number }, abort: AbortController, add: (lines: string[]) => void): Promise<void> {
  const path = `pods/${[at.cluster, at.namespace, at.pod].map(encodeURIComponent).join("/")}/log`;
  const body = await stream(path, values, abort.signal);
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const parts = (rest + value).split("\n");
    rest = parts.pop() ?? "";
    if (parts.length) add(parts);
  }
  if (rest) add([rest]);
}
