import { computed, signal } from "@preact/signals";

/** Follow the system, or not. Kept in this browser; theme.js applies it before the first paint. */
export type Theme = "system" | "light" | "dark";

const key = "millrace.theme";
const dark = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(dark.matches);
dark.addEventListener("change", () => (systemIsDark.value = dark.matches));

export const theme = signal<Theme>((document.documentElement.dataset["theme"] as Theme | undefined) ?? "system");
export const isDark = computed(() => (theme.value === "system" ? systemIsDark.value : theme.value === "dark"));

export function setTheme(to: Theme): void {
  theme.value = to;
  if (to === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = to;
  try {
    if (to === "system") localStorage.removeItem(key);
    else localStorage.setItem(key, to);
  } catch {
    // Storage is forbidden here: it holds until the page is left.
  }
}
