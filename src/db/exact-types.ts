import pg from "pg";
import { parseExact } from "./exact-json.js";

type Parser = pg.CustomTypesConfig["getTypeParser"];
const asUsual: Parser = pg.types.getTypeParser;
const { JSON: json, JSONB: jsonb } = pg.types.builtins;

/** How a connection of those reads values that only pass JSON on: as the driver does, but for integers in JSON. */
export const exactTypes: pg.CustomTypesConfig = {
  getTypeParser: ((oid: Parameters<Parser>[0], format?: Parameters<Parser>[1]) =>
    (oid === json || oid === jsonb) && format !== "binary" ? parseExact : asUsual(oid, format)) as Parser,
};
