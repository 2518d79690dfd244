import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Commands, Message } from "./child/commands.ts";

interface Waiting {
  readonly resolve: (answer: never) => void;
  readonly reject: (error: Error) => void;
}

/** Commands of a child process: what each gets, and what it answers. */
type AnyCommands<All> = { readonly [C in keyof All]: { args: unknown; answer: unknown } };

/** A child process in which one system does one thing. */
export class SystemProcess<All extends AnyCommands<All> = Commands> {
  /** Told from time to time how many jobs its worker has handled. */
  onHandled: (handled: number) => void = () => {};
  readonly #child: ChildProcess;
  readonly #callSeconds: number;
  readonly #waiting = new Map<number, Waiting>();
  #calls = 0;

  constructor(
    system: string,
    url: string,
    callSeconds: number,
    nodeOptions: readonly string[] = [],
    script = new URL("child/main.ts", import.meta.url),
  ) {
    this.#callSeconds = callSeconds;
    this.#child = fork(fileURLToPath(script), [system, url], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      execArgv: [...process.execArgv, ...nodeOptions],
    });
    this.#child.on("message", (message: Message) => this.#hear(message));
    this.#child.once("exit", (code) => {
      for (const { reject } of this.#waiting.values())
        reject(new Error(`the process of ${system} ended early, with code ${code}`));
      this.#waiting.clear();
    });
  }

  #hear(message: Message): void {
    if ("handled" in message) {
      this.onHandled(message.handled);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting?.resolve(message.answer as never);
    else waiting?.reject(new Error(message.error));
  }

  async call<C extends keyof All & string>(command: C, args: All[C]["args"]): Promise<All[C]["answer"]> {
    const id = (this.#calls += 1);
    const answer = new Promise<All[C]["answer"]>((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#child.send({ id, command, args });
    const giveUp = new AbortController();
    const late = sleep(this.#callSeconds * 1000, undefined, { signal: giveUp.signal }).then(() => {
      throw new Error(`${command} took longer than ${this.#callSeconds} s`);
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      late.catch(() => {});
      giveUp.abort();
    }
  }

  tellHandled(handled: number): void {
    if (this.#child.connected) this.#child.send({ handled });
  }

  /** Let it end; make it end when it does not. */
  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    if (this.#child.connected) this.#child.disconnect();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 3000);
    await exited;
    clearTimeout(timer);
  }
}
