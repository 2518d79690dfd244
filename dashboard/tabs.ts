/**
 * One sign-in for all tabs of this browser. Each keeps the token for itself, until it is closed; one that has none asks
 * the others. So it is nowhere once the last tab is closed.
 */
import { effect } from "@preact/signals";
import { base, changes, get, keepToken, readToken, signInReason } from "./api.js";
import { forgetAnswers } from "./parts/resource.js";
import { session } from "./session.js";
import type { Session } from "./wire.js";

type Message =
  | { readonly kind: "ask" }
  | { readonly kind: "out" }
  /** `isNew`: somebody has just signed in; else it answers who asks. */
  | { readonly kind: "token"; readonly token: string; readonly isNew: boolean };

/** Tabs hear of a sign-out one after the other: what they answer meanwhile is of before. */
const lateMs = 2000;
let leftAt = -Infinity;

const channel =
  typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(`millrace.token ${base.pathname}`);
const say = (message: Message): void => channel?.postMessage(message);

/** Somebody has signed in here, or out. */
export const signedIn = (token: string): void => say({ kind: "token", token, isNew: true });
export function signedOut(): void {
  leftAt = Date.now();
  say({ kind: "out" });
}

export function startTabs(): void {
  if (!channel) return;
  channel.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    const token = readToken();
    if (data.kind === "ask" && token !== null && signInReason.peek() === null)
      say({ kind: "token", token, isNew: false });
    else if (data.kind === "token" && signInReason.peek() !== null && (data.isNew || Date.now() - leftAt > lateMs))
      void take(data.token);
    else if (data.kind === "out" && token !== null) leave("Signed out in another tab.");
  });
  effect(() => {
    if (signInReason.value !== null) say({ kind: "ask" });
  });
}

async function take(token: string): Promise<void> {
  keepToken(token);
  try {
    session.value = await get<Session>("session");
    forgetAnswers();
    signInReason.value = null;
    changes.value += 1;
  } catch {
    keepToken(null); // it is of no use here either
  }
}

function leave(reason: string): void {
  leftAt = Date.now();
  keepToken(null);
  forgetAnswers();
  session.value = null;
  signInReason.value = reason;
}
