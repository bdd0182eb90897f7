// An object as YAML, read as the user; the values of Secrets only when asked for.
import { useState } from "preact/hooks";
import { asQuery } from "../api";
import { Yaml } from "../editor/lazy";
import { readable } from "../editor/print";
import { t } from "../i18n";
import type { Ref } from "../types";
import { Show, useGet } from "./load";

export function ObjectYaml({ of, cluster }: { of: Ref; cluster?: string | null | undefined }) {
  const [reveal, setReveal] = useState(false);
  const found = useGet<unknown>("object", { ...asQuery(of), cluster, reveal: reveal || undefined });
  return (
    <section class="object">
      {of.kind === "Secret" && (
        <label class="check">
          <input type="checkbox" checked={reveal} onChange={(event) => setReveal(event.currentTarget.checked)} />
          {t("Show secret values")}
        </label>
      )}
      <Show from={found}>
        {(data) => <Yaml text={typeof data === "string" ? data : readable(data)} label={`YAML ${of.kind} ${of.name}`} />}
      </Show>
    </section>
  );
}
