// Requests to the back end, with the session's CSRF value on writes. A refusal becomes a Refused with the server's words.
import { signal } from "@preact/signals";
import type { Ref, Session } from "./types";

export const BASE = "/dashboard";
export const session = signal<Session | null>(null);
export const signedOut = signal(false);

export class Refused extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

async function refusal(answer: Response): Promise<Refused> {
  const text = await answer.text();
  try {
    const status = JSON.parse(text) as { message?: string };
    return new Refused(answer.status, status.message || answer.statusText);
  } catch {
    return new Refused(answer.status, text.slice(0, 300) || `${answer.status} ${answer.statusText}`);
  }
}

async function request(path: string, init: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(`${BASE}/${path}`, { credentials: "same-origin", redirect: "manual", ...init });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new Refused(0, "The control plane cannot be reached.");
  }
  if (answer.ok) return answer;
  if (answer.status === 401 && path !== "login") signedOut.value = true;
  throw await refusal(answer);
}

export type Query = Record<string, string | number | boolean | null | undefined>;

export function query(values: Query): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") said.set(name, String(value));
  }
  const text = said.toString();
  return text && `?${text}`;
}

export async function get<T>(path: string, values: Query = {}, abort?: AbortSignal): Promise<T> {
  const answer = await request(`api/${path}${query(values)}`, { signal: abort ?? null });
  return (await answer.json()) as T;
}

export async function stream(path: string, values: Query, abort: AbortSignal): Promise<ReadableStream<Uint8Array>> {
  const answer = await request(`api/${path}${query(values)}`, { signal: abort });
  if (!answer.body) throw new Refused(0, "The answer is empty.");
  return answer.body;
}

async function send(path: string, body: unknown, abort?: AbortSignal): Promise<Response> {
  return request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-Karmada-CSRF": session.value?.csrf ?? "" },
    body: JSON.stringify(body),
    signal: abort ?? null,
  });
}

export async function post<T>(path: string, body: unknown, abort?: AbortSignal): Promise<T> {
  return (await (await send(`api/${path}`, body, abort)).json()) as T;
}

export async function openSession(): Promise<void> {
  session.value = await get<Session>("session");
  signedOut.value = false;
}

export async function login(token: string): Promise<void> {
  await send("login", { token });
  await openSession();
}

export async function logout(): Promise<void> {
  await send("logout", {});
  session.value = null;
  signedOut.value = true;
}

export function asQuery(ref: Ref): Query {
  return { apiVersion: ref.apiVersion, kind: ref.kind, namespace: ref.namespace ?? "", name: ref.name };
}

export { key } from "./merge";

export function title(ref: Ref): string {
  return ref.namespace ? `${ref.namespace}/${ref.name}` : ref.name;
}
