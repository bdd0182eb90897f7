import assert from "node:assert/strict";
import { test } from "node:test";
import { Screen } from "../src/terminal/screen";

function shown(...parts: string[]): string[] {
  const screen = new Screen(20, 5);
  for (const part of parts) screen.write(part);
  return screen.text().split("\n").map((line) => line.trimEnd());
}

test("lines, returns and backspaces are as on a terminal", () => {
  assert.deepEqual(shown("ab\r\ncd\rX\b"), ["ab", "Xd"]);
});

test("colours are left out, also when a sequence comes in two parts", () => {
  assert.deepEqual(shown("\x1b[31mred\x1b[0", "m!"), ["red!"]);
});

test("erasing and moving the cursor", () => {
  assert.deepEqual(shown("hello\x1b[2D\x1b[K"), ["hel"]);
  assert.deepEqual(shown("one\r\ntwo\x1b[2J\x1b[Hnew").filter(Boolean), ["new"]);
});

test("a hostile stream stays bounded", () => {
  const screen = new Screen(20, 5);
  for (let number = 0; number < 5000; number++) screen.write(`line ${number}\r\n`);
  screen.write("\x1b[99999999B\x1b[99999999C\x1b]0;never ends".repeat(10));
  assert.ok(screen.rows.length <= 2100);
});
