/** What a token may do, each more than the one before; the same four that `role_grant` knows in the database. */
export const roles = ["reader", "producer", "worker", "admin"] as const;
/** A reader looks; a producer enqueues and cancels too; a worker claims too; an admin may do everything. */
export type Role = (typeof roles)[number];

export function mayAct(has: Role, needs: Role): boolean {
  return roles.indexOf(has) >= roles.indexOf(needs);
}
