// Builds the unit tests of what needs no browser; node's own runner runs them.
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const folder = join(dirname(fileURLToPath(import.meta.url)), "tests");

export default defineConfig({
  logLevel: "warn",
  build: {
    ssr: true,
    outDir: ".tests",
    emptyOutDir: true,
    rollupOptions: {
      input: Object.fromEntries(readdirSync(folder).map((name) => [name.replace(/\.ts$/, ""), join(folder, name)])),
      output: { entryFileNames: "[name].mjs" },
    },
  },
});
