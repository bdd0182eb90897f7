// Texts in the user's language.
import { chinese } from "./chinese";
import { language } from "./settings";

export type Text = keyof typeof chinese;

/** How English says these of one. */
const ONE: Partial<Record<Text, string>> = {
  "{n} clusters not chosen": "{n} cluster not chosen",
  "{n} more clusters": "{n} more cluster",
  "{n} more pods": "{n} more pod",
  "{n} replicas": "{n} replica",
  "{n} workloads": "{n} workload",
};

export function t(text: Text, values: Record<string, string | number> = {}): string {
  const english = (String(values.n) === "1" && ONE[text]) || text;
  const said: string = language.value === "zh" ? chinese[text] : english;
  return said.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
