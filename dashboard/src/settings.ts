// What a user chose: theme and language, kept in the browser.
import { effect, signal } from "@preact/signals";

export type Theme = "light" | "dark";
export type Language = "en" | "zh";

function kept<T extends string>(name: string, allowed: readonly T[]): T | null {
  const value = localStorage.getItem(`karmada.${name}`);
  return allowed.find((one) => one === value) ?? null;
}

const darkness = matchMedia("(prefers-color-scheme: dark)");
const chosen = signal(kept("theme", ["light", "dark"] as const));
export const theme = signal<Theme>(chosen.value ?? (darkness.matches ? "dark" : "light"));
export const language = signal<Language>(
  kept("language", ["en", "zh"] as const) ?? (navigator.language.startsWith("zh") ? "zh" : "en"),
);

darkness.addEventListener("change", () => {
  if (!chosen.value) theme.value = darkness.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
effect(() => {
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});

export function toggleTheme(): void {
  chosen.value = theme.value = theme.value === "dark" ? "light" : "dark";
  localStorage.setItem("karmada.theme", theme.value);
}

export function toggleLanguage(): void {
  language.value = language.value === "en" ? "zh" : "en";
  localStorage.setItem("karmada.language", language.value);
}
