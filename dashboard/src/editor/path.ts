// Which field of which manifest the cursor is at, by indentation: what completion needs while the YAML is not yet whole.

export interface Spot {
  apiVersion: string;
  kind: string;
  /** Names of the fields above, outermost first; items of lists have no name of their own. */
  path: string[];
  /** Fields that the same object has already. */
  taken: string[];
}

interface Line {
  indent: number;
  name: string;
}

function parse(text: string): Line | null {
  const found = /^(\s*(?:- +)*)(?:(["']?)([\w./-]+)\2\s*:)?/.exec(text);
  if (!found || /^\s*(#.*)?$/.test(text)) return null;
  return { indent: found[1]?.length ?? 0, name: found[3] ?? "" };
}

/** `lines` is one document, `row` the cursor's line in it, `column` where the typed word begins. */
export function spot(lines: string[], row: number, column: number): Spot {
  const top = (name: string) => {
    for (const line of lines) {
      const found = new RegExp(`^${name}:\\s*["']?([^"'\\s#]+)`).exec(line);
      if (found?.[1]) return found[1];
    }
    return "";
  };
  const path: string[] = [];
  let level = column;
  for (let index = row - 1; index >= 0 && level > 0; index--) {
    const line = parse(lines[index] ?? "");
    if (!line || line.indent >= level) continue;
    if (line.name) path.unshift(line.name);
    level = line.indent;
  }
  return { apiVersion: top("apiVersion"), kind: top("kind"), path, taken: siblings(lines, row, column) };
}

function siblings(lines: string[], row: number, column: number): string[] {
  const found: string[] = [];
  const scan = (from: number, step: number) => {
    for (let index = from; index >= 0 && index < lines.length; index += step) {
      const line = parse(lines[index] ?? "");
      if (!line) continue;
      if (line.indent < column) return;
      if (line.indent === column && line.name) found.push(line.name);
      if (line.indent === column && /^\s*- /.test(lines[index] ?? "")) return;
    }
  };
  scan(row - 1, -1);
  scan(row + 1, 1);
  return found;
}

export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
  additionalProperties?: Schema | boolean;
  enum?: (string | number)[];
  required?: string[];
  $ref?: string;
  allOf?: Schema[];
  definitions?: Record<string, Schema>;
  components?: { schemas?: Record<string, Schema> };
}

function resolve(root: Schema, schema: Schema | undefined): Schema | undefined {
  let found = schema;
  for (let hops = 0; found && hops < 10; hops++) {
    if (found.$ref) {
      const name = found.$ref.split("/").pop() ?? "";
      found = root.definitions?.[name] ?? root.components?.schemas?.[name];
    } else if (!found.properties && found.allOf?.length === 1) found = found.allOf[0];
    else if (found.items) found = found.items;
    else break;
  }
  return found;
}

/** The schema of the object at a path; lists lead to their items. */
export function under(root: Schema, path: string[]): Schema | undefined {
  let found = resolve(root, root);
  for (const name of path) {
    const more = found?.additionalProperties;
    found = resolve(root, found?.properties?.[name] ?? (typeof more === "object" ? more : undefined));
    if (!found) return undefined;
  }
  return found;
}
