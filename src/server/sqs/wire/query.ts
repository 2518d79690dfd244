import { type Source, decodeMembers, isInteger, malformed, wireNameOf } from "./decode.js";
import type { FormNode } from "./form.js";
import type { Members } from "./model.js";

/** Read an input out of the parameters of the Query protocol. `queueUrl` stands in when they have none. */
export function decodeQuery(form: FormNode, members: Members, queueUrl: string | undefined): Record<string, unknown> {
  if (queueUrl !== undefined && !form.children.has("QueueUrl"))
    form.children.set("QueueUrl", { value: queueUrl, children: new Map() });
  return decodeMembers(source, form, members);
}

const source: Source<FormNode> = {
  member: (node, name, kind) => node.children.get(wireNameOf(name, kind)),
  // `AttributeName=All` and `Attribute.Name=…&Attribute.Value=…` are lists and maps of one; `Entries=` is an empty one.
  items: (node) => (node.value ? [["1", node]] : numbered(node)),
  entries: (node, keyName) =>
    (node.children.has(keyName) ? ([["1", node]] as const) : numbered(node)).flatMap(([index, entry]) => {
      const key = entry.children.get(keyName)?.value;
      return key === undefined ? [] : [[index, key, entry.children.get("Value")] as const];
    }),
  structure() {},
  scalar(node, kind) {
    const text = node.value ?? "";
    if (kind === "string") return text;
    if (kind === "integer" && /^[+-]?\d{1,10}$/.test(text) && isInteger(Number(text))) return Number(text);
    if (kind === "boolean" && (text === "true" || text === "false")) return text === "true";
    throw malformed(`A parameter can not be converted to ${kind === "integer" ? "an Integer" : "a Boolean"}`);
  },
};

/** The children whose names are numbers, in their order; gaps do not matter. */
function numbered(node: FormNode): (readonly [index: string, item: FormNode])[] {
  return [...node.children].filter(([name]) => /^\d{1,9}$/.test(name)).sort(([a], [b]) => Number(a) - Number(b));
}
