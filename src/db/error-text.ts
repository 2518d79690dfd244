/** What an error says, whatever kind of JSON it is: who reports by SQL may give a text, a number or a list. */
export function errorText(error: unknown): string {
  if (error === null || error === undefined) return "";
  if (typeof error === "string") return error;
  const message = typeof error === "object" ? (error as { readonly message?: unknown }).message : undefined;
  return typeof message === "string" ? message : JSON.stringify(error);
}
