/** The values of the keys used last, so that what many schedules share is worked out once. */
export class Recent<V> {
  readonly #values = new Map<string, V>();

  constructor(
    readonly most: number,
    readonly make: (key: string) => V,
  ) {}

  get(key: string): V {
    let value = this.#values.get(key);
    if (value === undefined) {
      value = this.make(key);
      if (this.#values.size >= this.most) this.#values.delete(this.#values.keys().next().value!);
    } else {
      this.#values.delete(key);
    }
    this.#values.set(key, value);
    return value;
  }
}
