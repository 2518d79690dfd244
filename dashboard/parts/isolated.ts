/** Letters that are written from right to left, and marks that turn the direction. */
const fromRight = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u202A-\u202E\u2066-\u2069]/;

/**
 * A name inside of a sentence that is one text, such as the title of a dialog: one that is written from right to left,
 * or turns the direction, leaves the words around it in place. In elements use `bdi`; links and tags isolate by style.
 */
export const isolated = (name: string): string => (fromRight.test(name) ? `\u2068${name}\u2069` : name);
