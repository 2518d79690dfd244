import { decodeAlert, decodeAlertEvent, decodeAlertRule, decodeHook } from "../decode.js";
import { checkObject } from "../check-options.js";
import { checkId } from "../encode.js";
import type { CallOptions } from "../foreign.js";
import type {
  AlertEvent,
  AlertRecord,
  AlertRule,
  AlertRuleRecord,
  HookRecord,
  JobId,
  Json,
  SilenceNote,
} from "../types.js";
import { HistoryVerbs } from "./history.js";

/** What somebody wants to be told of (`sql/alerts`). */
export abstract class AlertVerbs extends HistoryVerbs {
  /** Compare all rules with what is, unless anybody did within 15 seconds. Returns how many alerts began or ended. */
  async alertsCheck(call?: CallOptions): Promise<number> {
    return this.db.count("alerts_check", "select :alerts_check() as n", [], call);
  }

  /** Alerts that fire, or are about to. */
  async alerts(call?: CallOptions): Promise<AlertRecord[]> {
    const text = "select * from :alerts order by state, since, rule, subject limit 10000";
    return (await this.db.rows("alerts", text, [], call)).map(decodeAlert);
  }

  /** All rules, by name. */
  async alertRules(call?: CallOptions): Promise<AlertRuleRecord[]> {
    return (await this.db.rows("alert_rules", "select * from :alert_rules order by name", [], call)).map(
      decodeAlertRule,
    );
  }

  /** What happened, newest first; before an id when paging, or before a time. */
  async alertEvents(
    { before, until, limit = 100 }: { readonly before?: string; readonly until?: Date; readonly limit?: number } = {},
    call?: CallOptions,
  ): Promise<AlertEvent[]> {
    const text = `select *, id::text as id_text from :alert_events where ($1::bigint is null or id < $1) and ($3::timestamptz is null or at < $3) order by alert_events.id desc limit $2::int`;
    const values = [before === undefined ? null : checkId(before), limit, until ?? null];
    return (await this.db.rows("alert_events", text, values, call)).map(decodeAlertEvent);
  }

  /** Make a rule, or change it: what is given is all of it. */
  async alertPut(name: string, rule: AlertRule, by?: string, call?: CallOptions): Promise<Json> {
    checkObject(rule, "a rule");
    const text = "select :alert_put($1::text, $2::jsonb, $3::text) as value";
    return this.db.value("alert_put", text, [name, JSON.stringify(rule), by ?? null], call);
  }

  /** Forget a rule. */
  async alertRemove(name: string, by?: string, call?: CallOptions): Promise<void> {
    await this.db.rows("alert_remove", "select :alert_remove($1::text, $2::text)", [name, by ?? null], call);
  }

  /** Send nothing for what a rule fires, or for one subject of it, for so many seconds; 0 ends the silence. */
  async alertSilence(
    name: string,
    seconds: number,
    { by, because, subject }: SilenceNote = {},
    call?: CallOptions,
  ): Promise<void> {
    const text = "select :alert_silence($1::text, $2::float8, $3::text, $4::text, $5::text)";
    const values = [name, seconds, by ?? null, because ?? null, subject ?? null];
    await this.db.rows("alert_silence", text, values, call);
  }

  /** Where alerts are sent to, by name. */
  async hooks(call?: CallOptions): Promise<HookRecord[]> {
    return (await this.db.rows("hooks", "select * from :hooks order by name", [], call)).map(decodeHook);
  }

  /** Name an address that alerts may be sent to. Answers with its secret when one was made; it is not told again. */
  async hookPut(
    name: string,
    hook: { readonly url: string; readonly secret?: string },
    by?: string,
    call?: CallOptions,
  ): Promise<{ readonly secret?: string }> {
    checkObject(hook, "a web hook");
    const text = "select :hook_put($1::text, $2::text, $3::text, $4::text) as value";
    return this.db.value("hook_put", text, [name, hook.url, hook.secret ?? null, by ?? null], call);
  }

  /** Send nothing there any more. */
  async hookRemove(name: string, by?: string, call?: CallOptions): Promise<void> {
    await this.db.rows("hook_remove", "select :hook_remove($1::text, $2::text)", [name, by ?? null], call);
  }

  /** Send something there now. Answers with the job that does. */
  async hookTest(name: string, by?: string, call?: CallOptions): Promise<JobId> {
    const text = "select :hook_test($1::text, $2::text)::text as value";
    return this.db.value("hook_test", text, [name, by ?? null], call);
  }

  /** The address and the secret, for the worker that sends; null when it was removed. */
  async hookGet(name: string, call?: CallOptions): Promise<{ readonly url: string; readonly secret: string } | null> {
    return this.db.value("hook_get", "select :hook_get($1::text) as value", [name], call);
  }
}
