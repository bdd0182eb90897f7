// The side panel: details beside what was clicked. Escape closes it and gives the focus back.
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { t } from "../i18n";

interface Props {
  title: string;
  close: () => void;
  children: ComponentChildren;
}

export function Drawer({ title, close, children }: Props) {
  const box = useRef<HTMLElement>(null);
  // Before it is painted: a key that comes at once is already for it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    box.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement || before instanceof SVGElement) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <aside
      class="drawer"
      aria-label={title}
      tabIndex={-1}
      ref={box}
      onKeyDown={(event) => {
        if (event.key === "Escape") close();
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="icon" aria-label={t("Close")} onClick={close}>
          ✕
        </button>
      </header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}
