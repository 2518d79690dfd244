import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { Button } from "./button.js";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: "good" | "bad";
  readonly undo?: () => Promise<void>;
  /** What taking it back is called. */
  readonly button: string;
}

const toasts = signal<readonly Toast[]>([]);
let lastId = 0;
/** Long enough to read it and to change one's mind. */
const shownMs = 6000;
const undoMs = 15_000;

/** Tell what was done, and offer to take it back. */
export function toast(
  text: string,
  { tone = "good", undo, button = "Undo" }: { tone?: "good" | "bad"; undo?: () => Promise<void>; button?: string } = {},
): void {
  const id = (lastId += 1);
  toasts.value = [...toasts.value.slice(-3), { id, text, tone, button, ...(undo && { undo }) }];
  setTimeout(() => dismiss(id), undo ? undoMs : shownMs);
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

/** The corner where it is told; screen readers hear each once. */
export function Toasts(): JSX.Element {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, tone, undo, button }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <span>{text}</span>
          {undo && (
            <Button
              small
              onClick={() => {
                dismiss(id);
                void undo();
              }}
            >
              {button}
            </Button>
          )}
          <Button small kind="quiet" label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </Button>
        </div>
      ))}
    </div>
  );
}
