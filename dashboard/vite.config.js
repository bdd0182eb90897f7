// Builds the bundle into the Python package, and stamps it with the hash of the sources it was made from.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const here = dirname(fileURLToPath(import.meta.url));
const out = join(here, "../src/karmada/dashboard/static");
const STAMP = "stamp.json";

function files(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => files(join(path, name)));
}

// The same rule as in tests/dashboard/test_bundle.py: one line per file, sorted by path.
function hash(root, paths) {
  const lines = paths.flatMap((path) => files(join(root, path))).map((path) => {
    const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
    return `${relative(root, path).split(sep).join("/")} ${digest}\n`;
  });
  return createHash("sha256").update(lines.sort().join("")).digest("hex");
}

const SOURCES = ["index.html", "package.json", "package-lock.json", "src", "tsconfig.json", "vite.config.js"];

function stamp() {
  return {
    name: "stamp",
    closeBundle() {
      const bundle = readdirSync(out).filter((name) => name !== STAMP);
      const text = { sources: hash(here, SOURCES), bundle: hash(out, bundle) };
      writeFileSync(join(out, STAMP), `${JSON.stringify(text, null, 2)}\n`);
    },
  };
}

export default defineConfig({
  base: "/dashboard/static/",
  plugins: [stamp()],
  build: {
    outDir: out,
    emptyOutDir: true,
    assetsDir: "",
    assetsInlineLimit: 0,
    target: "es2022",
    modulePreload: { polyfill: false },
    reportCompressedSize: true,
  },
});
