import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { changes } from "./api.js";
import { pages } from "./pages.js";
import { Button } from "./parts/button.js";
import { go, to } from "./router.js";

const helpIsOpen = signal(false);
/** `g` waits this long for the letter of a page. */
const prefixMs = 1200;

/** Keys for the whole page; none while somebody types, or while a dialog asks. */
export function startShortcuts(): void {
  let wentAt = 0;
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target instanceof HTMLElement && event.target.closest("input:not([type=checkbox]), textarea, select"))
      return;
    const isSecond = Date.now() - wentAt < prefixMs;
    wentAt = 0;
    if (isSecond) {
      const page = pages.value.find(({ key }) => key === event.key);
      if (page) go(to(page.path));
    } else if (event.key === "g") wentAt = Date.now();
    else if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "?") helpIsOpen.value = true;
    else if (event.key === "r") changes.value += 1;
    else if (event.key === "j" || event.key === "k") toRow(event.key === "j" ? 1 : -1);
    else if (event.target instanceof HTMLElement && event.target.matches("tr[data-row]")) onRow(event, event.target);
  });
}

/** The next row of a list, or the one before: it gets the focus, so that all who read it hear of it. */
function toRow(step: 1 | -1): void {
  const rows = [...document.querySelectorAll<HTMLElement>("main tr[data-row]")];
  const here = rows.indexOf(document.activeElement?.closest<HTMLElement>("tr[data-row]") ?? document.body);
  const next = rows[here === -1 ? (step === 1 ? 0 : rows.length - 1) : here + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function onRow(event: KeyboardEvent, row: HTMLElement): void {
  if (event.key === "Enter") row.querySelector<HTMLElement>("a[href]")?.click();
  else if (event.key === " ") {
    event.preventDefault();
    row.querySelector<HTMLElement>("input[type=checkbox]")?.click();
  }
}

export const openHelp = (): void => {
  helpIsOpen.value = true;
};

export function HelpDialog(): JSX.Element | null {
  return helpIsOpen.value ? <Help /> : null;
}

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="help-title" onClose={() => (helpIsOpen.value = false)}>
      <div class="dialog-body">
        <h2 id="help-title">Keyboard</h2>
        <dl class="keys">
          <Key keys={["/"]} does="search jobs" />
          <Key keys={["r"]} does="ask again" />
          <Key keys={["j", "k"]} does="next row, row before" />
          <Key keys={["Enter"]} does="open the row" />
          <Key keys={["Space"]} does="choose the row" />
          <Key keys={["?"]} does="this help" />
          {pages.value.map(({ key, title }) => (
            <Key key={key} keys={["g", key]} does={title} />
          ))}
          <Key keys={["Esc"]} does="close" />
        </dl>
        <footer>
          <Button kind="main" onClick={() => dialog.current!.close()}>
            Close
          </Button>
        </footer>
      </div>
    </dialog>
  );
}

function Key({ keys, does }: { keys: readonly string[]; does: string }): JSX.Element {
  return (
    <div>
      <dt>{does}</dt>
      <dd>
        {keys.map((key) => (
          <>
            <kbd key={key}>{key}</kbd>{" "}
          </>
        ))}
      </dd>
    </div>
  );
}
