// Fields and values proposed from the schema that the control plane serves for the manifest's kind.
import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { get } from "../api";
import { type Schema, spot, under } from "./path";

const schemas = new Map<string, Promise<Schema | null>>();

function schema(apiVersion: string, kind: string): Promise<Schema | null> {
  const name = `${apiVersion} ${kind}`;
  let found = schemas.get(name);
  if (!found) {
    found = get<Schema>("schema", { apiVersion, kind }).catch(() => {
      schemas.delete(name);
      return null;
    });
    schemas.set(name, found);
  }
  return found;
}

export async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const value = /^(\s*(?:- +)*)([\w./-]+):\s+([\w./-]*)$/.exec(before);
  const field = /^(\s*(?:- +)*)([\w./-]*)$/.exec(before);
  if (!value && !field) return null;
  if (!context.explicit && field && !field[2]) return null;
  const [start, lines] = document(context.state.doc.toString().split("\n"), line.number - 1);
  const column = (value ?? field)?.[1]?.length ?? 0;
  const at = spot(lines, line.number - 1 - start, column);
  if (!at.apiVersion || !at.kind) return null;
  const root = await schema(at.apiVersion, at.kind);
  if (!root) return null;
  const parent = under(root, at.path);
  if (value) {
    const allowed = parent?.properties?.[value[2] ?? ""];
    const options = allowed?.enum?.map(String) ?? (allowed?.type === "boolean" ? ["true", "false"] : []);
    return options.length ? { from: context.pos - (value[3]?.length ?? 0), options: options.map((label) => ({ label })) } : null;
  }
  const options = Object.entries(parent?.properties ?? {})
    .filter(([name]) => !at.taken.includes(name))
    .map(([name, one]) => option(name, one, parent?.required?.includes(name) ?? false));
  return options.length ? { from: context.pos - (field?.[2]?.length ?? 0), options, validFor: /^[\w./-]*$/ } : null;
}

function option(name: string, of: Schema, required: boolean): Completion {
  const nested = of.type === "object" || of.type === "array" || of.properties !== undefined || of.$ref !== undefined;
  const found: Completion = { label: name, apply: `${name}:${nested ? "" : " "}`, detail: of.type ?? "", boost: required ? 1 : 0 };
  if (of.description) found.info = of.description.slice(0, 400);
  return found;
}

/** The document between `---` lines that holds a row: where it starts, and its lines. */
function document(lines: string[], row: number): [number, string[]] {
  let start = row;
  while (start > 0 && lines[start - 1] !== "---") start--;
  let end = row;
  while (end < lines.length && lines[end] !== "---") end++;
  return [start, lines.slice(start, end)];
}
