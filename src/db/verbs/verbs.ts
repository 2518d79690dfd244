import type { Statements } from "../statements.js";

/** What all verbs have in common: the way to the database. */
export abstract class Verbs {
  protected readonly db: Statements;

  constructor(db: Statements) {
    this.db = db;
  }
}
