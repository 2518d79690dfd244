import type { StandardSchema } from "../../src/job/standard-schema.js";

/** A Standard Schema by hand: `read` gives the value back, or throws why not, naming the field. */
export function schemaOf<Input, Output = Input>(
  read: (value: unknown) => Output | Promise<Output>,
): StandardSchema<Input, Output> {
  return {
    "~standard": {
      version: 1,
      vendor: "by hand",
      validate: async (value) => {
        try {
          return { value: await read(value) };
        } catch (error) {
          if (!(error instanceof Unfit)) throw error;
          return { issues: [{ message: error.message, path: error.path }] };
        }
      },
    },
  };
}

/** Why a value does not fit. */
export class Unfit extends Error {
  constructor(
    message: string,
    readonly path: readonly (string | number | { readonly key: string })[] = [],
  ) {
    super(message);
  }
}
