// The one stream of changes of this tab: server-sent events, reopened when the page's topics change or the server was away.
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { BASE, openSession, query, Refused, signedOut } from "./api";
import { place } from "./router";
import type { Change } from "./types";

export type Link = "idle" | "connecting" | "live" | "lost" | "refused";
export const link = signal<Link>("idle");

type Listener = { topics: string[]; changed: (change: Change) => void; again: () => void };
const listeners = new Set<Listener>();
const FIRST_DELAY = 500;
const LONGEST_DELAY = 8000;

let source: EventSource | null = null;
let topics = "";
let namespace = "";
let wanted = 0;
let retry = 0;
let delay = FIRST_DELAY;
let away = false;
let known = false;

function close(): void {
  source?.close();
  source = null;
  clearTimeout(retry);
}

function open(): void {
  close();
  if (!topics) {
    link.value = "idle";
    return;
  }
  if (!away) link.value = "connecting";
  source = new EventSource(`${BASE}/api/stream${query({ topics, namespace })}`);
  source.onopen = () => {
    link.value = "live";
    delay = FIRST_DELAY;
    known = false;
    if (away) for (const one of listeners) one.again();
    away = false;
  };
  source.addEventListener("changed", (event) => {
    const change = JSON.parse((event as MessageEvent<string>).data) as Change;
    for (const one of listeners) if (one.topics.includes(change.topic)) one.changed(change);
  });
  source.onerror = lost;
}

// A closed connection is tried again with growing pauses; a session that has ended shows the sign-in page instead.
function lost(): void {
  close();
  away = true;
  // The server answers, but gives no stream: the user may not follow this, or has too many tabs.
  link.value = known ? "refused" : "lost";
  known = false;
  retry = window.setTimeout(async () => {
    try {
      await openSession();
      known = true;
      open();
    } catch (error) {
      if (error instanceof Refused && error.code === 401) return;
      lost();
    }
  }, delay);
  delay = Math.min(delay * 2, LONGEST_DELAY);
}

function retopic(): void {
  clearTimeout(wanted);
  wanted = window.setTimeout(() => {
    const next = [...new Set([...listeners].flatMap((one) => one.topics))].sort().join(",");
    const within = place.value.path === "/workloads" ? (place.value.values.get("namespace") ?? "") : "";
    if (next === topics && within === namespace) return;
    topics = next;
    namespace = within;
    open();
  }, 20);
}

place.subscribe(retopic);
signedOut.subscribe((out) => {
  if (out) close();
  else if (topics) open();
});

/** Calls `changed` for each change of the topics, and `again` when the connection has been away: read everything anew. */
export function useLive(watched: string[], changed: (change: Change) => void, again: () => void): void {
  const latest = useRef({ changed, again });
  latest.current = { changed, again };
  useEffect(() => {
    const one: Listener = {
      topics: watched,
      changed: (change) => latest.current.changed(change),
      again: () => latest.current.again(),
    };
    listeners.add(one);
    retopic();
    return () => {
      listeners.delete(one);
      retopic();
    };
  }, [watched.join(",")]);
}

/** Reads a page anew when its topics change: at once, then no more often than once in `pause` milliseconds. */
export function useRefetch(watched: string[], again: () => void, pause: number): void {
  const due = useRef({ timer: 0, last: 0 });
  useEffect(() => () => clearTimeout(due.current.timer), []);
  useLive(
    watched,
    (change) => {
      const state = due.current;
      if (change.snapshot || state.timer) return;
      state.timer = window.setTimeout(
        () => {
          state.timer = 0;
          state.last = performance.now();
          again();
        },
        Math.max(0, state.last + pause - performance.now()),
      );
    },
    again,
  );
}
