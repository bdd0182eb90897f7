// A table of which only the visible rows are in the page: ten thousand rows cost as much as thirty.
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props<T> {
  label: string;
  head: ComponentChildren;
  rows: T[];
  height: number;
  id: (row: T) => string;
  row: (row: T) => ComponentChildren;
  end?: () => void;
  kind: string;
}

const SPARE = 8;

/** Rows of one fixed height; `end` is called when the last ones come near. */
export function VirtualTable<T>({ label, head, rows, height, id, row, end, kind }: Props<T>) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, size: 800 });
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setView({ top: element.scrollTop, size: element.clientHeight });
    measure();
    const watcher = new ResizeObserver(measure);
    watcher.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    return () => {
      watcher.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, []);
  const first = Math.max(0, Math.floor(view.top / height) - SPARE);
  const last = Math.min(rows.length, Math.ceil((view.top + view.size) / height) + SPARE);
  useEffect(() => {
    if (end && last > rows.length - 30) end();
  }, [last, rows.length]);
  return (
    <div class={`table ${kind}`} role="table" aria-label={label} aria-rowcount={rows.length}>
      <div class="thead" role="rowgroup">
        <div class="tr" role="row">
          {head}
        </div>
      </div>
      <div class="tbody" role="rowgroup" ref={box} tabIndex={0}>
        <div class="space" role="presentation" style={{ height: `${rows.length * height}px` }}>
          {rows.slice(first, last).map((one, index) => (
            <Line key={id(one)} of={one} index={first + index} height={height} row={row} />
          ))}
        </div>
      </div>
    </div>
  );
}

interface LineProps<T> {
  of: T;
  index: number;
  height: number;
  row: (row: T) => ComponentChildren;
}

/** One row: drawn again only when it is another one, or elsewhere. */
class Line<T> extends Component<LineProps<T>> {
  override shouldComponentUpdate(next: LineProps<T>): boolean {
    return next.of !== this.props.of || next.index !== this.props.index;
  }

  override render({ of, index, height, row }: LineProps<T>) {
    return (
      <div class="tr" role="row" aria-rowindex={index + 1} style={{ top: `${index * height}px`, height: `${height}px` }}>
        {row(of)}
      </div>
    );
  }
}

export function Th({ children }: { children?: ComponentChildren }) {
  return (
    <span role="columnheader" class="th">
      {children}
    </span>
  );
}

export function Td({ children, kind = "", title }: { children?: ComponentChildren; kind?: string; title?: string }) {
  return (
    <span role="cell" class={`td ${kind}`} title={title}>
      {children}
    </span>
  );
}
