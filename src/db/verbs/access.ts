import { encodeDefaults } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import type { Defaults, Json, Retention } from "../types.js";
import { LookVerbs } from "./look.js";

/** What holds for the whole cell, and who may do what in it (`sql/access`). */
export abstract class AccessVerbs extends LookVerbs {
  /** Set the defaults and retention of the whole cell. */
  async cellPut(defaults: Defaults & Retention, call?: CallOptions): Promise<Json> {
    return this.db.value("cell_put", "select :cell_put($1::jsonb) as value", [encodeDefaults(defaults)], call);
  }

  /** Let a database role act as producer, worker, reader or admin. */
  async roleGrant(role: string, kind: "producer" | "worker" | "reader" | "admin", call?: CallOptions): Promise<void> {
    await this.db.rows("role_grant", "select :role_grant($1::name, $2::text)", [role, kind], call);
  }
}
