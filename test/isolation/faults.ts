import type { JobId } from "../../src/db/types.js";
import type { Scene } from "./scenes.js";

/** What is wrong: of what kind, and in words. */
export interface Fault {
  readonly kind: string;
  readonly text: string;
}

/** Collects all that is wrong, because the second fault often explains the first. */
export class Faults {
  readonly #scene: Scene;
  readonly #faults: Fault[] = [];

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  add(kind: string, text = ""): void {
    const fault = { kind, text: text === "" ? kind : `${kind}: ${text}` };
    if (!this.#faults.some((known) => known.text === fault.text)) this.#faults.push(fault);
  }

  get all(): readonly Fault[] {
    return this.#faults;
  }

  /** A job, by its role. */
  name(id: JobId): string {
    const roles = Object.entries({ ...this.#scene, held: this.#scene.held.id });
    const role = roles.find(([, value]) => value === id)?.[0];
    return role === undefined
      ? `a ${this.#scene.ids.includes(id) ? "job of the scene" : "new job"}`
      : `the ${role} job`;
  }
}
