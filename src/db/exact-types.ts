import pg from "pg";
import { parseExact } from "./exact-json.js";

const [json, jsonb] = [114, 3802];

/** How a connection of those reads values that only pass JSON on: as the driver does, but for integers in JSON. */
export const exactTypes = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    (oid === json || oid === jsonb) && format !== "binary"
      ? parseExact
      : pg.types.getTypeParser(oid, format as "text")) as typeof pg.types.getTypeParser,
};
