// Keyboard shortcuts: g and a letter goes to a page, / to the filter, t changes the theme, ? shows this list.
import { useEffect, useRef } from "preact/hooks";
import { t } from "./i18n";
import { go } from "./router";
import { toggleTheme } from "./settings";

export const SHORTCUTS = [
  { key: "o", path: "/", word: "Overview" },
  { key: "c", path: "/clusters", word: "Clusters" },
  { key: "w", path: "/workloads", word: "Workloads" },
  { key: "p", path: "/policies", word: "Policies" },
  { key: "i", path: "/what-if", word: "What if" },
  { key: "s", path: "/search", word: "Search" },
  { key: "e", path: "/events", word: "Events and drift" },
  { key: "y", path: "/editor", word: "YAML editor" },
] as const;

const WITHIN = 1200;

function typing(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.getAttribute("role") === "textbox";
}

export function useShortcuts(help: () => void): void {
  useEffect(() => {
    let before = 0;
    const pressed = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return;
      const waiting = performance.now() - before < WITHIN;
      before = 0;
      const page = waiting && SHORTCUTS.find((one) => one.key === event.key);
      if (page) go(page.path);
      else if (event.key === "g") before = performance.now();
      else if (event.key === "?") help();
      else if (event.key === "t") toggleTheme();
      else if (event.key === "/") {
        const filter = document.querySelector<HTMLInputElement>("input.filter");
        if (!filter) return;
        filter.focus();
      } else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
}

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="h-keys">
      <h2 id="h-keys">{t("Keyboard shortcuts")}</h2>
      <dl class="keys">
        {SHORTCUTS.map((one) => (
          <div key={one.key}>
            <dt>
              <kbd>g</kbd> <kbd>{one.key}</kbd>
            </dt>
            <dd>{t(one.word)}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>/</kbd>
          </dt>
          <dd>{t("Filter")}</dd>
        </div>
        <div>
          <dt>
            <kbd>←</kbd> <kbd>↑</kbd> <kbd>↓</kbd> <kbd>→</kbd>
          </dt>
          <dd>{t("From box to box of the graph")}</dd>
        </div>
        <div>
          <dt>
            <kbd>t</kbd>
          </dt>
          <dd>{t("Light or dark")}</dd>
        </div>
        <div>
          <dt>
            <kbd>?</kbd>
          </dt>
          <dd>{t("Keyboard shortcuts")}</dd>
        </div>
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>{t("Close")}</dd>
        </div>
      </dl>
      <button type="button" class="primary" onClick={() => dialog.current?.close()}>
        {t("Close")}
      </button>
    </dialog>
  );
}
