/** JSON has no Infinity; the SQL functions say "unlimited". */
export function toJsonText(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => (member === Infinity ? "unlimited" : member));
}
