import type { AddressInfo } from "node:net";
import { defineJob } from "millrace/producer";
import type { Role, User } from "millrace/server";

export const welcome = defineJob<{ email: string }>("welcome");

/** The sign-in of these applications: a cookie `user=NAME:ROLE`. */
export function userOf(cookie: string | null | undefined): User | null {
  const [, name, role] = /(?:^|; )user=([^:;]+):(\w+)/.exec(cookie ?? "") ?? [];
  return name === undefined ? null : { name: decodeURIComponent(name), role: role as Role };
}

/** For whoever started the process. */
export function say(facts: object): void {
  process.stdout.write(`${JSON.stringify(facts)}\n`);
}

export const portOf = (address: string | AddressInfo | null): number => (address as AddressInfo).port;
