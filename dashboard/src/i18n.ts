// Texts in the user's language.
import { chinese } from "./chinese";
import { language } from "./settings";

export type Text = keyof typeof chinese;

export function t(text: Text, values: Record<string, string | number> = {}): string {
  const said: string = language.value === "zh" ? chinese[text] : text;
  return said.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}
