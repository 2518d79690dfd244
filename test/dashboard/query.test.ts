import { describe, expect, it } from "vitest";
import { asTime, parseQuery, suggest, writeQuery } from "../../dashboard/search/query.js";

describe("the search line", () => {
  it("reads what it writes", () => {
    for (const filter of [
      { state: "failed", type: "resize" },
      { error: "timed out after 3 s", queue: "mail" },
      { group: "a:b" },
      { type: "x-y.z/1" },
    ]) {
      expect(parseQuery(writeQuery(filter))).toEqual({ filter, unknown: [] });
    }
  });

  it("takes a long number as an id, and tells which words it does not know", () => {
    expect(parseQuery("7419230000000000000").filter).toEqual({ id: "7419230000000000000" });
    expect(parseQuery("type:a colour:red lost")).toEqual({ filter: { type: "a" }, unknown: ["colour:red", "lost"] });
    expect(parseQuery("")).toEqual({ filter: {}, unknown: [] });
    expect(parseQuery('error:"half').filter["error"]).toBe('"half');
  });

  it("completes keys, states and names it has seen", () => {
    expect(suggest("st", {}).map(({ line }) => line)).toEqual(["state:"]);
    expect(suggest("type:a state:f", {}).map(({ line }) => line)).toEqual(["type:a state:failed "]);
    expect(suggest("queue:ma", { queue: ["images", "mail"] }).map(({ line }) => line)).toEqual([
      "queue:mail ",
      "queue:images ",
    ]);
    expect(suggest("queue:my", { queue: ["my queue"] }).map(({ line }) => line)).toEqual(['queue:"my queue" ']);
    expect(suggest("", {}).length, "an empty line says all that can be asked").toBe(10);
    expect(
      suggest("state:failed s", {}).map(({ shown }) => shown),
      "what is there is not offered again",
    ).toEqual(["since:"]);
  });

  it("counts times back from now", () => {
    const now = Date.parse("2026-03-01T12:00:00Z");
    expect(asTime("2h", now)).toBe("2026-03-01T10:00:00.000Z");
    expect(asTime("2026-02-01", now)).toBe("2026-02-01T00:00:00.000Z");
    expect(asTime("nonsense", now), "the server says what is wrong with it").toBe("nonsense");
  });
});
