import { computed, signal } from "@preact/signals";
import { get } from "./api.js";
import type { Session } from "./wire.js";

export const session = signal<Session | null>(null);
/** Why the server did not say who we are. */
export const sessionError = signal<unknown>(null);
/** Readers see everything and change nothing. */
export const mayAct = computed(() => session.value?.role === "admin");

export async function loadSession(): Promise<void> {
  try {
    session.value = await get<Session>("session");
    sessionError.value = null;
  } catch (error) {
    sessionError.value = error;
  }
}
