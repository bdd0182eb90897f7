// The YAML editor. It lives in a shadow root, where CodeMirror adopts its style sheets: the page's CSP allows no inline ones.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers, type Rect } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import { complete } from "./completion";

export interface Mark {
  line: number | null;
  text: string;
  warning?: boolean;
}

interface Props {
  text: string;
  label: string;
  changed?: (text: string) => void;
  save?: () => void;
  marks?: Mark[];
}

/** Marks a text that came from outside: nobody needs to hear of it. */
const given = Annotation.define<boolean>();

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.content], color: "var(--code-text)" },
  { tag: [tags.comment, tags.meta], color: "var(--dim)" },
  { tag: [tags.keyword, tags.bool, tags.number], color: "var(--code-value)" },
]);

const look = EditorView.theme({
  "&": { height: "100%", fontSize: "13px", color: "var(--text)", backgroundColor: "var(--panel)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  // The host has the outline: the gutters would cover this one.
  "&.cm-focused": { outline: "none" },
  ".cm-gutters": { backgroundColor: "var(--ground)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionInfo": { maxWidth: "320px", whiteSpace: "pre-wrap" },
  // On a phone it would hide the other proposals and leave the window.
  "@media (max-width: 720px)": { ".cm-completionInfo": { display: "none" } },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
});

/** What is said of a proposal stands below the list, or above where there is no room: beside it, it would hide the preview. */
function below(_: EditorView, list: Rect, __: Rect, info: Rect, space: Rect): { style: string } {
  const down = space.bottom - list.bottom >= info.bottom - info.top;
  const right = list.left + (info.right - info.left) > space.right;
  return { style: `${down ? "top" : "bottom"}: ${list.bottom - list.top}px; ${right ? "right" : "left"}: -1px` };
}

export default function YamlEditor({ text, label, changed, save, marks = [] }: Props) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  // Texts that were reported and have not come back as `text` yet: more may have been typed since.
  const reported = useRef<string[]>([]);
  const latest = useRef({ changed, save });
  latest.current = { changed, save };
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const editor = new EditorView({
      root,
      parent: root as unknown as Element,
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          lintGutter(),
          history(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          EditorView.lineWrapping,
          yaml(),
          syntaxHighlighting(colours),
          look,
          EditorState.readOnly.of(changed === undefined),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
          autocompletion({ override: [complete], icons: false, positionInfo: below }),
          keymap.of([
            { key: "Mod-s", preventDefault: true, run: () => (latest.current.save?.(), true) },
            ...completionKeymap,
            ...defaultKeymap,
            ...historyKeymap,
          ]),
          EditorView.updateListener.of((update) => {
            if (!update.docChanged || update.transactions.some((one) => one.annotation(given))) return;
            const typed = update.state.doc.toString();
            reported.current.push(typed);
            latest.current.changed?.(typed);
          }),
        ],
      }),
    });
    view.current = editor;
    return () => editor.destroy();
  }, []);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const own = reported.current.lastIndexOf(text);
    reported.current.splice(0, own < 0 ? reported.current.length : own + 1);
    if (own >= 0 || editor.state.doc.toString() === text) return;
    editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text }, annotations: given.of(true) });
  }, [text]);
  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const found = marks.map((mark): Diagnostic => {
      const line = doc.line(Math.min(Math.max(1, mark.line ?? 1), doc.lines));
      const indent = /^\s*/.exec(line.text)?.[0].length ?? 0;
      return { from: line.from + indent, to: line.to, severity: mark.warning ? "warning" : "error", message: mark.text };
    });
    editor.dispatch(setDiagnostics(editor.state, found));
  }, [marks]);
  return <div class="yaml" ref={host} />;
}
