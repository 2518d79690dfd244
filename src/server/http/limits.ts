/** How much one request may make the server read, hold and compute. Whatever is above is refused before it costs anything; docs/server.md lists them. */

/** The longest body, where a route does not say otherwise. */
export const usualBodyBytes = 1_048_576;
/** The longest body that carries jobs or results. Payloads beyond it come as streams. */
export const jobBodyBytes = 16_777_216;
/** Objects and lists within each other. The engine takes 1000 levels of an input; the rest is what it is wrapped in. */
export const mostLevels = 1010;
/** Of what an answer tells of a mistake: a value that is told in full may be as long as the body was. */
export const mostDetailCharacters = 2000;
/** Of what the audit notes of an object. */
export const mostObjectCharacters = 500;
