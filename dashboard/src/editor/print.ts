// Objects as YAML, as people write it: fields in the usual order, what the server manages left out when edited.

const FIRST = ["apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations", "spec"];

function keys(of: object): string[] {
  const all = Object.keys(of);
  return [...FIRST.filter((name) => all.includes(name)), ...all.filter((name) => !FIRST.includes(name))];
}

const PLAIN = /^[A-Za-z_/][A-Za-z0-9_./() -]*$/;
const OTHER = /^(true|false|yes|no|on|off|null|y|n)$/i;

function scalar(value: unknown, indent: string): string {
  if (typeof value !== "string") return JSON.stringify(value);
  if (value.includes("\n") && !/^\s|[^\S\n]\n|\r|\t/.test(value)) {
    const block = value.replace(/\n$/, "").split("\n");
    const tail = value.endsWith("\n\n") ? "|+" : value.endsWith("\n") ? "|" : "|-";
    return `${tail}\n${block.map((line) => (line ? `${indent}${line}` : "")).join("\n")}`;
  }
  return PLAIN.test(value) && !OTHER.test(value) && !value.endsWith(" ") ? value : JSON.stringify(value);
}

function lines(value: unknown, indent: string): string {
  if (Array.isArray(value)) {
    if (!value.length) return " []\n";
    return `\n${value.map((one) => `${indent}-${inside(one, `${indent}  `)}`).join("")}`;
  }
  if (value !== null && typeof value === "object") {
    const names = keys(value);
    if (!names.length) return " {}\n";
    return `\n${names.map((name) => field(name, (value as Record<string, unknown>)[name], indent)).join("")}`;
  }
  return ` ${scalar(value, indent)}\n`;
}

function field(name: string, value: unknown, indent: string): string {
  const shown = PLAIN.test(name) && !OTHER.test(name) ? name : JSON.stringify(name);
  const deeper = Array.isArray(value) ? indent : `${indent}  `;
  return `${indent}${shown}:${lines(value, deeper)}`;
}

/** An item of a list: the first field of an object stands behind the dash. */
function inside(value: unknown, indent: string): string {
  const text = lines(value, indent);
  return value !== null && typeof value === "object" && text.startsWith("\n") ? ` ${text.slice(1 + indent.length)}` : text;
}

export function print(value: unknown): string {
  if (value === null || typeof value !== "object") return `${scalar(value, "")}\n`;
  return lines(value, "").replace(/^\n/, "").replace(/^ /, "");
}

const MANAGED = ["managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink"];

/** The object as its writer would have it: no status, no fields that the server sets. */
export function editable(value: unknown): string {
  const { status: _, metadata, ...rest } = value as Record<string, unknown>;
  const about = Object.fromEntries(Object.entries((metadata ?? {}) as object).filter(([name]) => !MANAGED.includes(name)));
  return print({ ...rest, metadata: about });
}

/** The object for reading: without the bookkeeping of who manages which field. */
export function readable(value: unknown): string {
  const object = value as { metadata?: Record<string, unknown> };
  if (!object?.metadata) return print(value);
  const { managedFields: _, ...metadata } = object.metadata;
  return print({ ...object, metadata });
}
