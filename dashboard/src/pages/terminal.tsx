// A shell in a pod of a member, over the same-origin WebSocket of the back end: one byte names the channel, as with Kubernetes.
import { useEffect, useRef, useState } from "preact/hooks";
import { BASE, query } from "../api";
import { t } from "../i18n";
import { Screen, typed } from "../terminal/screen";
import { type PodPlace, PodTitle, useContainers } from "./logs";

const [STDIN, ERROR, RESIZE] = [0, 3, 4];
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];

function frame(channel: number, text: string): Uint8Array<ArrayBuffer> {
  const data = new TextEncoder().encode(text);
  const out = new Uint8Array(data.length + 1);
  out[0] = channel;
  out.set(data, 1);
  return out;
}

/** What the last message of the error channel says of the end. */
function ending(text: string): string {
  try {
    const status = JSON.parse(text) as { status?: string; message?: string };
    return status.status === "Success" ? "" : (status.message ?? "");
  } catch {
    return text;
  }
}

export function Terminal(at: PodPlace) {
  const containers = useContainers(at);
  const [container, setContainer] = useState("");
  const [state, setState] = useState<"connecting" | "open" | "ended">("connecting");
  const [said, setSaid] = useState("");
  const [round, setRound] = useState(0);
  const [, draw] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  const screen = useRef(new Screen(80, 24));
  const socket = useRef<WebSocket | null>(null);
  const send = (channel: number, text: string) => {
    if (socket.current?.readyState === WebSocket.OPEN) socket.current.send(frame(channel, text));
  };
  useEffect(() => {
    const path = `${BASE}/api/pods/${[at.cluster, at.namespace, at.pod].map(encodeURIComponent).join("/")}/exec`;
    const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}${query({ container })}`;
    const line = new WebSocket(address, PROTOCOLS);
    const decoder = new TextDecoder();
    let wanted = 0;
    screen.current = new Screen(80, 24);
    socket.current = line;
    line.binaryType = "arraybuffer";
    setState("connecting");
    setSaid("");
    line.onopen = () => {
      setState("open");
      fit();
      box.current?.focus();
    };
    line.onmessage = (event: MessageEvent<ArrayBuffer | string>) => {
      const data = typeof event.data === "string" ? new TextEncoder().encode(event.data) : new Uint8Array(event.data);
      const text = decoder.decode(data.subarray(1), { stream: true });
      if (data[0] === ERROR) setSaid(ending(text));
      else screen.current.write(text);
      wanted ||= requestAnimationFrame(() => {
        wanted = 0;
        draw((before) => before + 1);
      });
    };
    line.onclose = (event) => {
      setState("ended");
      setSaid((before) => before || event.reason);
    };
    const fit = () => {
      const element = box.current;
      if (!element) return;
      const width = Math.max(20, Math.floor((element.clientWidth - 20) / 7.83));
      const height = Math.max(5, Math.floor((element.clientHeight - 16) / 19.5));
      screen.current.resize(width, height);
      send(RESIZE, JSON.stringify({ Width: width, Height: height }));
    };
    const watcher = new ResizeObserver(fit);
    if (box.current) watcher.observe(box.current);
    return () => {
      watcher.disconnect();
      cancelAnimationFrame(wanted);
      line.onclose = null;
      line.close();
    };
  }, [at.cluster, at.namespace, at.pod, container, round]);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  });
  const lines = screen.current.text().split("\n");
  const { row, column } = screen.current.cursor();
  const current = (lines[row] ?? "").padEnd(column + 1);
  return (
    <>
      <PodTitle at={at} view="terminal" />
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
        <span role="status" class="dim">
          {state === "open" ? t("Connected") : state === "connecting" ? t("Connecting…") : t("The connection has ended.")} {said}
        </span>
        {state === "ended" && (
          <button type="button" onClick={() => setRound(round + 1)}>
            {t("Connect again")}
          </button>
        )}
        <span class="dim">{t("Shift-Escape leaves the terminal.")}</span>
      </div>
      <pre
        class="log terminal"
        ref={box}
        tabIndex={0}
        role="textbox"
        aria-multiline="true"
        aria-label={t("Terminal")}
        onKeyDown={(event) => {
          if (event.key === "Escape" && event.shiftKey) {
            event.currentTarget.blur();
            return;
          }
          const text = typed(event);
          if (!text) return;
          event.preventDefault();
          event.stopPropagation();
          send(STDIN, text);
        }}
        onPaste={(event) => send(STDIN, event.clipboardData?.getData("text") ?? "")}
      >
        {lines.slice(0, row).map((line) => `${line}\n`).join("")}
        {current.slice(0, column)}
        <span class="cursor">{current[column]}</span>
        {current.slice(column + 1)}
        {lines.slice(row + 1).map((line) => `\n${line}`).join("")}
      </pre>
    </>
  );
}
