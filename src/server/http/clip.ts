/** A text, or its beginning when it is longer than that. */
export function clip(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`;
}
