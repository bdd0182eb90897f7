// The YAML editor for any object: an existing one, or new manifests.
import { useMemo } from "preact/hooks";
import { Yaml } from "../editor/lazy";
import { editable } from "../editor/print";
import { t } from "../i18n";
import { Show, useGet } from "../parts/load";
import { Preview } from "../parts/preview";
import { place } from "../router";

const POLICY = `apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: nginx
  namespace: default
spec:
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    name: nginx
  placement:
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
`;

export function Editor() {
  const { values } = place.value;
  const known = values.has("name");
  const found = useGet<unknown>(known ? "object" : null, Object.fromEntries(values));
  return (
    <>
      <h1>{known ? `${values.get("kind")} ${values.get("namespace") ? `${values.get("namespace")}/` : ""}${values.get("name")}` : t("New objects")}</h1>
      <p class="dim">{t("Ctrl-Space proposes fields; Ctrl-S applies. Every change is checked by the server before.")}</p>
      {known ? <Show from={found}>{(data) => <Known data={data} />}</Show> : <Preview first={values.get("new") === "policy" ? POLICY : ""} label="YAML" />}
    </>
  );
}

function Known({ data }: { data: unknown }) {
  const text = useMemo(() => (typeof data === "string" ? data : editable(data)), [data]);
  if (redacted(data)) return <Yaml text={text} label="YAML" />;
  return <Preview first={text} label="YAML" />;
}

/** A Secret is shown without its values: to apply it so would overwrite them. */
function redacted(data: unknown): boolean {
  return (data as { kind?: string } | null)?.kind === "Secret";
}
