import { describe, expect, it } from "vitest";
import { asTime, parseQuery, suggest, writeQuery } from "../../dashboard/search/query.js";
import { setUtc } from "../../dashboard/zone.js";

describe("the search line", () => {
  it("reads what it writes", () => {
    for (const filter of [
      { state: "failed", type: "resize" },
      { error: "timed out after 3 s", queue: "mail" },
      { group: "a:b" },
      { type: "x-y.z/1" },
      { input: '{"account":7}' },
      { input: '{"say": "a \\\\ b"}', failure: "5d41402abc4b2a76" },
      { text: '"quoted' },
    ]) {
      expect(parseQuery(writeQuery(filter))).toEqual({ filter, unknown: [] });
    }
  });

  it("takes a long number as an id, and tells which words it does not know", () => {
    expect(parseQuery("7419230000000000000").filter).toEqual({ id: "7419230000000000000" });
    expect(parseQuery("type:a colour:red")).toEqual({ filter: { type: "a" }, unknown: ["colour:red"] });
    expect(parseQuery("lost type:a mail").filter, "words alone are searched for").toEqual({
      type: "a",
      text: "lost mail",
    });
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
    expect(suggest("", {}).length, "an empty line says all that can be asked").toBe(15);
    expect(suggest("cel", {}), "with one cell there is none to choose").toEqual([]);
    expect(suggest("cell:", { cell: ["a", "b"] }).map(({ line }) => line)).toEqual(["cell:a ", "cell:b "]);
    expect(parseQuery("a:889652465904021504").filter).toEqual({ id: "a:889652465904021504" });
    expect(
      suggest("state:failed s", {}).map(({ shown }) => shown),
      "what is there is not offered again",
    ).toEqual(["since:"]);
  });

  it("counts times back from now", () => {
    const now = Date.parse("2026-03-01T12:00:00Z");
    expect(asTime("2h", now)).toBe("2026-03-01T10:00:00.000Z");
    expect(asTime("2026-02-01T08:00Z", now)).toBe("2026-02-01T08:00:00.000Z");
    expect(asTime("nonsense", now), "the server says what is wrong with it").toBe("nonsense");
    expect(asTime("2026-13-01", now)).toBe("2026-13-01");
  });

  it("reads a day and a time in the zone in which times are told", () => {
    const here = (text: string) => new Date(text).toISOString();
    expect([asTime("2026-02-01", 0), asTime("2026-02-01 08:00", 0)]).toEqual([
      here("2026-02-01T00:00"),
      here("2026-02-01T08:00"),
    ]);
    setUtc(true);
    try {
      expect([asTime("2026-02-01", 0), asTime("2026-02-01T08:00:30", 0)]).toEqual([
        "2026-02-01T00:00:00.000Z",
        "2026-02-01T08:00:30.000Z",
      ]);
    } finally {
      setUtc(false);
    }
  });
});
