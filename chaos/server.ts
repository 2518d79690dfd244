import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type EmbeddedServer, startEmbeddedServer } from "millrace";

const patienceMs = 30_000;

/** A PostgreSQL that is shut down, killed and started again on what it left. */
export class ChaosServer {
  readonly folder: string;
  readonly settings: Record<string, string>;
  #server: EmbeddedServer | undefined;

  constructor(
    settings: Readonly<Record<string, string>> = {},
    folder = mkdtempSync(path.join(tmpdir(), "millrace-chaos-")),
    asksNobody = true,
  ) {
    this.folder = folder;
    this.settings = {
      max_connections: "200",
      shared_buffers: "128MB",
      ...(asksNobody ? { hba_file: trust(folder) } : {}),
      ...settings,
    };
  }

  /** Where its database lives. */
  get data(): string {
    return path.join(this.folder, "data");
  }

  get port(): number {
    return this.#running.port;
  }

  get url(): string {
    return this.#running.url;
  }

  get pid(): number {
    return this.#running.pid;
  }

  /** Start, and wait as long as it takes the last life's processes to let go of its memory. */
  async start(): Promise<void> {
    for (const end = Date.now() + patienceMs; ;) {
      try {
        this.#server = await startEmbeddedServer({ folder: this.folder, settings: this.settings });
        return;
      } catch (error) {
        if (Date.now() > end || !/shared memory block|lock file/.test(String(error))) throw error;
        await sleep(50);
      }
    }
  }

  /** Shut down; `immediate` without finishing anything. */
  async stop(mode: "fast" | "immediate" = "fast"): Promise<void> {
    await this.#server?.stop(mode);
    this.#server = undefined;
  }

  /** Kill the postmaster and all its children with SIGKILL. Nobody gets to write anything any more. */
  async crash(): Promise<void> {
    const { pid } = this.#running;
    for (const one of [pid, ...childrenOf(pid)]) kill(one);
    await this.stop();
  }

  async remove(): Promise<void> {
    await this.stop("immediate");
    rmSync(this.folder, { recursive: true, force: true });
  }

  get #running(): EmbeddedServer {
    if (!this.#server) throw new Error("the server is not running");
    return this.#server;
  }
}

/**
 * Poolers, proxies and sessions of every kind stand in front of the servers of scenarios, none of which knows a
 * password.
 */
function trust(folder: string): string {
  const rules = path.join(folder, "trust.conf");
  mkdirSync(folder, { recursive: true });
  writeFileSync(rules, "host all all 127.0.0.1/32 trust\nhost replication all 127.0.0.1/32 trust\n");
  return rules;
}

function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  return existsSync(list) ? readFileSync(list, "utf8").trim().split(/\s+/).filter(Boolean).map(Number) : [];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as { code?: string }).code !== "ESRCH") throw error; // it ended by itself
  }
}
