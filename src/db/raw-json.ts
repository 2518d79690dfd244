const [quote, backslash] = [0x22, 0x5c];
const [openList, closeList, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const [comma, colon] = [0x2c, 0x3a];

/**
 * Reads a JSON text that the database has written, so one that is right, from front to back. What must stay as it was
 * written, numbers and spaces included, is taken as it is; a parser would give something that is equal, at best.
 */
export class RawJson {
  #at = 0;

  constructor(private readonly text: string) {}

  /** Each item of a list; `read` takes one value. */
  items(read: () => void): void {
    this.#each(closeList, read);
  }

  /** Each member of an object; `read` takes its value. */
  members(read: (name: string) => void): void {
    this.#each(closeObject, () => {
      const name = this.value() as string;
      this.#blanks();
      this.#at += 1; // the colon
      read(name);
    });
  }

  /** The next value. */
  value(): unknown {
    return JSON.parse(this.raw());
  }

  /** The text of the next value. */
  raw(): string {
    this.#blanks();
    const start = this.#at;
    this.#skip();
    return this.text.slice(start, this.#at);
  }

  #each(close: number, read: () => void): void {
    this.#blanks();
    this.#at += 1; // what opens it
    this.#blanks();
    while (this.text.charCodeAt(this.#at) !== close) {
      read();
      this.#blanks();
      if (this.text.charCodeAt(this.#at) === comma) this.#at += 1;
      if (this.#at >= this.text.length) throw new SyntaxError("the JSON text ends too early");
    }
    this.#at += 1;
  }

  #blanks(): void {
    while (this.text.charCodeAt(this.#at) <= 0x20) this.#at += 1;
  }

  #skip(): void {
    const first = this.text.charCodeAt(this.#at);
    if (first === quote) this.#skipString();
    else if (first === openList || first === openObject) this.#skipNested();
    else while (!isEnd(this.text.charCodeAt(this.#at))) this.#at += 1;
  }

  #skipNested(): void {
    let level = 0;
    do {
      const code = this.text.charCodeAt(this.#at);
      if (code === quote) {
        this.#skipString();
        continue;
      }
      if (code === openList || code === openObject) level += 1;
      else if (code === closeList || code === closeObject) level -= 1;
      this.#at += 1;
    } while (level > 0 && this.#at < this.text.length);
  }

  #skipString(): void {
    for (let end = this.#at; ;) {
      end = this.text.indexOf('"', end + 1);
      if (end < 0) throw new SyntaxError("a JSON string has no end");
      if (this.#isEscaped(end)) continue;
      this.#at = end + 1;
      return;
    }
  }

  #isEscaped(at: number): boolean {
    let before = at - 1;
    while (this.text.charCodeAt(before) === backslash) before -= 1;
    return (at - before) % 2 === 0;
  }
}

/** After a number or a word. At the end of the text there is no code at all. */
function isEnd(code: number): boolean {
  return code === comma || code === closeList || code === closeObject || code === colon || !(code > 0x20);
}
