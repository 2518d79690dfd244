import type { JSX } from "preact";

/** Parts of a page that have addresses of their own. */
export function Tabs({
  label,
  tabs,
  current,
}: {
  label: string;
  tabs: readonly { name: string; title: string; href: string }[];
  current: string;
}): JSX.Element {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, title, href }) => (
        <a key={name} href={href} aria-current={name === current ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** A choice of a few, of which one holds. */
export function Choice<T extends string>({
  label,
  of,
  value,
  onChange,
}: {
  label: string;
  of: readonly { value: T; title: string }[];
  value: T;
  onChange: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {of.map((option) => (
        <button
          type="button"
          key={option.value}
          aria-pressed={option.value === value}
          onClick={() => onChange(option.value)}
        >
          {option.title}
        </button>
      ))}
    </div>
  );
}
