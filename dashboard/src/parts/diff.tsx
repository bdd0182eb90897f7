// A unified diff with marks, so that added and removed lines differ by more than colour.
export function Diff({ text, label }: { text: string; label: string }) {
  const lines = text.replace(/\n$/, "").split("\n").filter((line) => !line.startsWith("---") && !line.startsWith("+++"));
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label={label}>
      {lines.map((line, index) => (
        <span key={index} class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : line.startsWith("@@") ? "place" : ""}>
          {line || " "}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
