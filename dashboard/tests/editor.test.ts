import assert from "node:assert/strict";
import { test } from "node:test";
import { type Schema, spot, under } from "../src/editor/path";
import { editable, print } from "../src/editor/print";

const POLICY = `apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
spec:
  resourceSelectors:
    - apiVersion: apps/v1
      kind: Deployment
      
  placement:
    cl`.split("\n");

test("the cursor is in the object that its indentation says", () => {
  const inner = spot(POLICY, 6, 6);
  assert.deepEqual(inner.path, ["spec", "resourceSelectors"]);
  assert.deepEqual([...inner.taken].sort(), ["apiVersion", "kind"]);
  const outer = spot(POLICY, 8, 4);
  assert.deepEqual([outer.apiVersion, outer.kind, outer.path], ["policy.karmada.io/v1alpha1", "PropagationPolicy", ["spec", "placement"]]);
});

test("a path leads through lists, references and maps, and nowhere in circles", () => {
  const root: Schema = {
    properties: { spec: { $ref: "#/definitions/Spec" }, loop: { $ref: "#/definitions/Loop" } },
    definitions: {
      Spec: { properties: { items: { type: "array", items: { properties: { name: { type: "string" } } } }, labels: { additionalProperties: { type: "string" } } } },
      Loop: { $ref: "#/definitions/Loop" },
    },
  };
  assert.deepEqual(Object.keys(under(root, ["spec", "items"])?.properties ?? {}), ["name"]);
  assert.equal(under(root, ["spec", "labels", "any"])?.type, "string");
  assert.equal(under(root, ["spec", "nothing", "deeper"]), undefined);
  under(root, ["loop", "loop"]);
});

test("objects are written so that nothing changes its type", () => {
  const text = print({ kind: "X", data: { a: "true", b: "12", c: "no", d: true, e: 3, f: null, g: "a: b", h: "# x", i: "", on: "y" }, list: [{ a: 1, b: [] }, "x", []] });
  for (const line of ['a: "true"', 'b: "12"', 'c: "no"', "d: true", "e: 3", "f: null", 'g: "a: b"', 'h: "# x"', 'i: ""', '"on": "y"', "- a: 1", "  b: []", "- x", "- []"]) {
    assert.ok(text.split("\n").some((one) => one.trimEnd().endsWith(line)), `${line} in\n${text}`);
  }
});

test("texts of many lines keep their ends", () => {
  assert.equal(print({ a: "x\ny" }), "a: |-\n  x\n  y\n");
  assert.equal(print({ a: "x\ny\n" }), "a: |\n  x\n  y\n");
  assert.equal(print({ a: "x\n\n" }), "a: |+\n  x\n\n");
  assert.equal(print({ a: " x\ny" }), 'a: " x\\ny"\n');
});

test("what the server manages is not edited", () => {
  const text = editable({ metadata: { uid: "1", name: "web", resourceVersion: "2", managedFields: [] }, status: { a: 1 }, spec: { b: 2 }, kind: "K", apiVersion: "v1" });
  assert.equal(text, "apiVersion: v1\nkind: K\nmetadata:\n  name: web\nspec:\n  b: 2\n");
});
