/** How much one request may ask the wire to do. Whatever is above is refused before it costs anything. */

/**
 * The longest body. A batch may carry 1 MiB of text, which some clients treble: boto3 writes every character outside of
 * ASCII as `\u00e9`, and a form writes every such byte as `%c3`. The rest is room for names, handles and attributes.
 */
export const maxBodyBytes = 4 * 1024 * 1024;
/** The longest message and the longest batch there are, for the refusal of what is longer than any of them. */
export const maxMessageBytes = 1_048_576;
/** Parameters of a form. A full batch (10 messages, 10 attributes each, of 3 parameters) has fewer than 400. */
export const maxParameters = 5_000;
/** Items of a list and entries of a map; every action allows far fewer, and tells the client how many it counted. */
export const maxItems = 1_000;
/**
 * Names between the dots of a parameter: `SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.BinaryListValue.1`.
 */
export const maxNameParts = 8;
/** Structures, lists and maps within each other, in JSON. No action knows more than six. */
export const maxLevels = 100;
/**
 * Of a refusal. One that tells the canonical form of a request has all of its headers in it; any other tells a value,
 * which may be as long as the body.
 */
export const maxErrorCharacters = 40_000;
