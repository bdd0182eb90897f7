// Numbers and times as people read them.
import { language } from "./settings";

export { amount, short } from "./quantity";

export function count(value: number): string {
  return value.toLocaleString(language.value === "zh" ? "zh-CN" : "en");
}

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];

/** How long ago a moment was, in words. */
export function ago(time: string | undefined, now = Date.now()): string {
  const seconds = time ? (now - Date.parse(time)) / 1000 : NaN;
  if (Number.isNaN(seconds)) return "";
  const words = new Intl.RelativeTimeFormat(language.value === "zh" ? "zh-CN" : "en", { numeric: "auto", style: "narrow" });
  for (const [unit, size] of STEPS) {
    if (seconds >= size || unit === "second") return words.format(-Math.max(0, Math.floor(seconds / size)), unit);
  }
  return "";
}

export function clock(time: string | undefined): string {
  const moment = new Date(time ?? "");
  return Number.isNaN(moment.getTime()) ? "" : moment.toLocaleString(language.value === "zh" ? "zh-CN" : "en", { hour12: false });
}
