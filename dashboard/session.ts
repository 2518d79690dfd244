import { computed, effect, signal } from "@preact/signals";
import { mayAct as isAtLeast } from "../src/server/auth/roles.js";
import { get, keepToken, signInReason } from "./api.js";
import { connection } from "./live.js";
import { forgetAnswers } from "./parts/resource.js";
import type { Session } from "./wire.js";

export const session = signal<Session | null>(null);
/** Readers see everything and change nothing. */
export const mayAct = computed(() => session.value?.role === "admin");
/** Enqueue, cancel, tell, and put schedules: what a producer may, and those who may more. */
export const mayProduce = computed(() => session.value !== null && isAtLeast(session.value.role, "producer"));

/** Ask who we are: at once, and when the server is back and has not said so yet. */
export function startSession(): void {
  const ask = async (): Promise<void> => {
    session.value = await get<Session>("session");
  };
  void ask().catch(() => {});
  effect(() => {
    if (connection.value === "live" && session.peek() === null) void ask().catch(() => {});
  });
}

/** Here; `tabs.ts` tells the others. */
export function signOut(): void {
  keepToken(null);
  forgetAnswers();
  session.value = null;
  signInReason.value = "";
}
