import { replaceIllegalCharacters } from "./characters.js";
import { wireNameOf } from "./decode.js";
import { base64Of, membersToWrite } from "./encode.js";
import type { SqsError } from "./errors.js";
import type { Kind, Members } from "./model.js";

/** How the Query protocol answers. */
export const xmlType = "text/xml";

const namespace = "http://queue.amazonaws.com/doc/2012-11-05/";
const declaration = `<?xml version="1.0"?>`;

/** Write an output. */
export function encodeXml(action: string, output: unknown, members: Members | undefined, requestId: string): string {
  const result = members ? element(`${action}Result`, encodeMembers(output, members)) : "";
  return `${declaration}<${action}Response xmlns="${namespace}">${result}<ResponseMetadata>${textElement("RequestId", requestId)}</ResponseMetadata></${action}Response>`;
}

/** Write an error. */
export function encodeXmlError(error: SqsError, requestId: string): string {
  const { fault, code, queryMessage } = error;
  const facts = `${textElement("Type", fault)}${textElement("Code", code)}${textElement("Message", queryMessage)}<Detail/>`;
  return `${declaration}<ErrorResponse xmlns="${namespace}"><Error>${facts}</Error>${textElement("RequestId", requestId)}</ErrorResponse>`;
}

function encodeMembers(output: unknown, members: Members): string {
  return membersToWrite(output, members)
    .map(([name, kind, value]) => encodeValue(wireNameOf(name, kind), value, kind))
    .join("");
}

/** Lists and maps are flat: their items stand beside the other members, each under the name of one item. */
function encodeValue(name: string, value: unknown, kind: Kind): string {
  switch (kind.kind) {
    case "list":
      return (value as readonly unknown[]).map((item) => encodeValue(name, item, kind.of)).join("");
    case "map":
      return Object.entries(value as object)
        .map(([key, item]) => element(name, textElement(kind.keyName, key) + encodeValue("Value", item, kind.of)))
        .join("");
    case "structure":
      return element(name, encodeMembers(value, kind.members));
    case "blob":
      return textElement(name, base64Of(value));
    default:
      return textElement(name, String(value));
  }
}

function element(name: string, content: string): string {
  return content === "" ? `<${name}/>` : `<${name}>${content}</${name}>`;
}

function textElement(name: string, text: string): string {
  return `<${name}>${escape(text)}</${name}>`;
}

/** A carriage return is written as a reference, for parsers turn a plain one into a line feed. */
const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "\r": "&#xD;",
};

function escape(text: string): string {
  return replaceIllegalCharacters(text).replace(/[&<>"\r]/g, (character) => references[character]!);
}
