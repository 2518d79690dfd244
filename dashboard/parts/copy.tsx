import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.js";
import { toast } from "./toast.js";

/** A button that puts a text on the clipboard. */
export function Copy({ text, label }: { text: string; label: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      toast("The browser does not allow copying here", { tone: "bad" });
    }
  };
  return (
    <button type="button" class="copy" aria-label={label} title={label} onClick={() => void copy()}>
      <Icon name={copied ? "check" : "copy"} size={15} />
    </button>
  );
}
