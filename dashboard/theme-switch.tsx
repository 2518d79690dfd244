import type { JSX } from "preact";
import { Button } from "./parts/button.js";
import { type Theme, setTheme, theme } from "./theme.js";

const next: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const sign: Readonly<Record<Theme, string>> = { system: "◐", light: "☀", dark: "☾" };

export function ThemeSwitch(): JSX.Element {
  return (
    <Button
      kind="quiet"
      small
      label={`Theme: ${theme.value}`}
      title={`Theme: ${theme.value}; now ${next[theme.value]}`}
      onClick={() => setTheme(next[theme.value])}
    >
      <span aria-hidden="true">{sign[theme.value]}</span>
    </Button>
  );
}
