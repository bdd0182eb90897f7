// A named object as a link, and buttons that copy text.
import { useState } from "preact/hooks";
import { title } from "../api";
import { t } from "../i18n";
import { address } from "../router";
import type { Ref } from "../types";

export function RefLink({ of, kind = true }: { of: Ref; kind?: boolean }) {
  return (
    <span class="ref">
      {kind && <span class="kind">{of.kind}</span>} <a href={address(of)}>{title(of)}</a>
    </span>
  );
}

export function Copy({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-live="polite">
      {done ? t("Copied") : t("Copy")}
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <div class="command">
      <pre tabIndex={0}>{text}</pre>
      <Copy text={text} />
    </div>
  );
}
