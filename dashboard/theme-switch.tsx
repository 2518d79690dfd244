import type { JSX } from "preact";
import { Button } from "./parts/button.js";
import { Icon, type IconName } from "./parts/icon.js";
import { type Theme, setTheme, theme } from "./theme.js";

const next: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" };
const icon: Readonly<Record<Theme, IconName>> = { system: "half", light: "sun", dark: "moon" };

export function ThemeSwitch(): JSX.Element {
  return (
    <Button
      kind="quiet"
      small
      label={`Theme: ${theme.value}`}
      title={`Theme: ${theme.value}; now ${next[theme.value]}`}
      onClick={() => setTheme(next[theme.value])}
    >
      <Icon name={icon[theme.value]} />
    </Button>
  );
}
