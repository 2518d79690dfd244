import { SqsError } from "./errors.js";
import { maxNameParts, maxParameters } from "./limits.js";

/**
 * Parameters as a tree: `Tag.1.Key=a` is the value `a` below `Tag`, `1`, `Key`. Maps, because names come from outside.
 */
export interface FormNode {
  value?: string;
  readonly children: Map<string, FormNode>;
}

/** Read query strings and form bodies into one tree; what is said twice counts as it was said last. */
export function parseForm(...texts: readonly string[]): FormNode {
  const root: FormNode = { children: new Map() };
  for (const [name, value] of texts.flatMap(pairsOf)) {
    const node = nodeAt(root, unescape(name));
    if (node) node.value = unescape(value);
  }
  return root;
}

/** The value of one parameter without dots in its name. */
export function valueOf(form: FormNode, name: string): string | undefined {
  return form.children.get(name)?.value;
}

/** The pairs of a query string, still escaped. */
export function pairsOf(text: string): [name: string, value: string][] {
  const pairs = text.split("&", maxParameters + 1);
  if (pairs.length > maxParameters)
    throw new SqsError(
      "MalformedQueryStringException",
      `A request can not have more than ${maxParameters} parameters.`,
    );
  return pairs
    .filter((pair) => pair !== "")
    .map((pair) => {
      const at = pair.indexOf("=");
      return at < 0 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
    });
}

/** The node of a name, made as needed; none for a name that is deeper than any we know. */
function nodeAt(root: FormNode, name: string): FormNode | undefined {
  const parts = name.split(".", maxNameParts + 1);
  if (parts.length > maxNameParts) return undefined;
  let node = root;
  for (const part of parts) {
    const next = node.children.get(part) ?? { children: new Map() };
    node.children.set(part, next);
    node = next;
  }
  return node;
}

/** As forms escape: a plus is a space, the rest is UTF-8 in percent signs. */
export function unescape(text: string): string {
  try {
    return decodeURIComponent(plusToSpace(text));
  } catch {
    throw malformedForm();
  }
}

/** Over bytes, for `replaceAll` takes seconds over some megabytes of nothing but plus signs, which anyone may send. */
function plusToSpace(text: string): string {
  if (!text.includes("+")) return text;
  const bytes = Buffer.from(text);
  for (let at = bytes.indexOf("+"); at >= 0 && at < bytes.length; at++) if (bytes[at] === 0x2b) bytes[at] = 0x20;
  return bytes.toString();
}

/** The refusal of what is no form. */
export function malformedForm(): SqsError {
  return new SqsError("MalformedQueryStringException", "The query string contains a syntax error.");
}
