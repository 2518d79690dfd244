/** What a token may do, each more than the one before; the same four that `role_grant` knows in the database. */
export const roles = ["reader", "producer", "worker", "admin"] as const;
/** A reader looks; a producer enqueues and cancels too; a worker claims too; an admin may do everything. */
export type Role = (typeof roles)[number];

/** Instead of a role: the right is in the path itself, and whoever has that needs no token. */
export const anyone = "anyone";

export function mayAct(has: Role, needs: Role): boolean {
  return roles.indexOf(has) >= roles.indexOf(needs);
}
