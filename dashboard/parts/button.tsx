import type { ComponentChildren, JSX } from "preact";

interface ButtonProps {
  readonly onClick?: (event: MouseEvent) => void;
  readonly kind?: "plain" | "main" | "danger" | "quiet";
  readonly small?: boolean;
  readonly disabled?: boolean;
  readonly type?: "button" | "submit";
  readonly title?: string;
  readonly label?: string;
  readonly expanded?: boolean;
  readonly children: ComponentChildren;
}

/** A button. One that is not possible now stays where it is, disabled, so that nothing moves. */
export function Button({
  onClick,
  kind = "plain",
  small,
  disabled,
  type = "button",
  title,
  label,
  expanded,
  children,
}: ButtonProps): JSX.Element {
  return (
    <button
      type={type}
      class={`button button-${kind}${small ? " button-small" : ""}`}
      disabled={disabled}
      title={title}
      aria-label={label}
      aria-expanded={expanded}
      onClick={onClick}
    >
      {children}
    </button>
  );
}
