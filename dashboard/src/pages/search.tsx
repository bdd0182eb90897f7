// Objects of all members, found by karmada-search.
import { useState } from "preact/hooks";
import { session, title } from "../api";
import { t } from "../i18n";
import { Drawer } from "../parts/drawer";
import { Show, useGet } from "../parts/load";
import { ObjectYaml } from "../parts/object";
import { go, place } from "../router";
import type { Ref } from "../types";

interface Row extends Ref {
  cluster: string;
  status?: string;
  excerpt?: string;
}

export function Search() {
  const asked = place.value.values.get("q") ?? "";
  const [text, setText] = useState(asked);
  const enabled = session.value?.search ?? false;
  const found = useGet<Row[]>(asked && enabled ? "search" : null, { q: asked });
  const [open, setOpen] = useState<Row | null>(null);
  return (
    <>
      <h1>{t("Search")}</h1>
      {!enabled ? (
        <div class="card">
          <p>{t("Search is not enabled: no ResourceRegistry caches objects of members.")}</p>
          <p class="remedy">{t("Create a ResourceRegistry that names the clusters and kinds to be searched.")}</p>
        </div>
      ) : (
        <>
          <form
            class="filters"
            onSubmit={(event) => {
              event.preventDefault();
              go(`/search?q=${encodeURIComponent(text)}`);
            }}
          >
            <input type="search" class="filter" aria-label={t("Search")} placeholder={t("Name, kind, namespace or cluster")} value={text} onInput={(event) => setText(event.currentTarget.value)} />
            <button type="submit" class="primary">
              {t("Search")}
            </button>
          </form>
          {asked && (
            <Show from={found}>
              {(rows) => (
                <table class="plain found">
                  <caption>{t("{n} found", { n: rows.length })}</caption>
                  <thead>
                    <tr>
                      <th scope="col">{t("Kind")}</th>
                      <th scope="col">{t("Name")}</th>
                      <th scope="col">{t("Cluster")}</th>
                      <th scope="col">{t("Status")}</th>
                      <th scope="col">{t("Found in")}</th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.slice(0, 500).map((row, index) => (
                      <tr key={index}>
                        <td>{row.kind}</td>
                        <td>
                          <button type="button" class="link" onClick={() => setOpen(row)}>
                            {title(row)}
                          </button>
                        </td>
                        <td>{row.cluster}</td>
                        <td>{row.status}</td>
                        <td class="dim excerpt">{row.excerpt}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </Show>
          )}
        </>
      )}
      {open && (
        <Drawer key={open.cluster + title(open)} title={`${open.kind} ${title(open)}`} close={() => setOpen(null)}>
          <p class="dim">{open.cluster}</p>
          <ObjectYaml of={open} cluster={open.cluster} />
        </Drawer>
      )}
    </>
  );
}
