import { z } from "../../zod.js";
import { roles } from "../../auth/roles.js";
import { route } from "../route.js";

export const sessionRoutes = [
  route({
    method: "GET",
    path: "/session",
    role: "reader",
    summary: "the user of the request, what they may do, and the server they talk to",
    answer: z.strictObject({
      name: z.string(),
      role: z.enum(roles),
      version: z.string(),
      schema: z.string(),
      isOpen: z.boolean(),
      isMounted: z.boolean(),
      cells: z.array(z.string()).meta({ description: "their names, where there are several" }),
    }),
    handle: async ({ identity, version, mill, auth }) => ({
      ...identity,
      version,
      schema: mill.engine.schema,
      isOpen: auth.isOpen,
      isMounted: auth.isMounted,
      cells: (await mill.cells?.names()) ?? [],
    }),
  }),
];
