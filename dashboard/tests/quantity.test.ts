import assert from "node:assert/strict";
import { test } from "node:test";
import { amount, short } from "../src/quantity";

test("quantities mean numbers", () => {
  const known: [string | number | undefined, number][] = [["250m", 0.25], ["2", 2], [3, 3], ["1Gi", 2 ** 30], ["1G", 1e9], ["1e3", 1000], [undefined, 0], ["nonsense", 0]];
  for (const [text, number] of known) assert.equal(amount(text), number, String(text));
});

test("quantities are shown short", () => {
  assert.equal(short("memory", 3 * 2 ** 30), "3 Gi");
  assert.equal(short("cpu", 0.25), "0.25");
  assert.equal(short("pods", 1100), "1,100");
});
