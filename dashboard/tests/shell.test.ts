import assert from "node:assert/strict";
import { test } from "node:test";
import { shellWord } from "../src/shell";

test("what means something to a shell is quoted", () => {
  assert.equal(shellWord("kind-member1"), "kind-member1");
  assert.equal(shellWord("$HOME/.kube/config"), "$HOME/.kube/config");
  assert.equal(shellWord("~/my files/config"), "~/'my files/config'");
  assert.equal(shellWord("$(reboot)"), "'$(reboot)'");
  assert.equal(shellWord("it's"), "'it'\\''s'");
  assert.equal(shellWord(""), "''");
});
