import { expect, it } from "vitest";
import { useServer } from "./server.js";

const server = useServer();
const large = "9007199254740993";

/** Ask with a text, and get a text: a parser on this side would hide what is looked for. */
async function text(method: string, path: string, body?: string): Promise<string> {
  const response = await fetch(`${server.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${server.tokens.admin}`, "content-type": "application/json" },
    ...(body !== undefined && { body }),
  });
  const answer = await response.text();
  expect(response.status, answer).toBe(200);
  return answer;
}

it("integers beyond 2^53 pass unchanged: enqueued, shown, listed, claimed, reported, as a result and as a signal", async () => {
  const { id } = JSON.parse(
    await text("POST", "/jobs", `{"type":"exact","input":{"order":${large},"list":[-${large}1]},"headers":{"h":"x"}}`),
  ) as { id: string };
  const input = `"input":{"order":${large},"list":[-${large}1]}`;
  expect(await server.db.sql("select input::text from jobs where id = $1", [id])).toEqual([
    { input: `{"order":${large},"list":[-${large}1]}` },
  ]);
  expect(await text("GET", `/jobs/${id}`)).toContain(input);
  expect(await text("GET", "/jobs?type=exact")).toContain(input);
  expect(await text("POST", `/jobs/${id}/tell`, `{"name":"paid","value":${large}}`)).toContain("true");
  expect(await text("GET", `/jobs/${id}/steps`)).toContain(`"value":${large}`);
  const claimed = await text("POST", "/claims", '{"queues":["default"],"limit":1,"leaseSeconds":60}');
  expect(claimed).toContain(input);
  const [{ token }] = (JSON.parse(claimed) as { items: [{ token: string }] }).items;
  await text(
    "POST",
    "/claims/settle",
    `{"settlements":[{"token":"${token}","outcome":"succeeded","jobs":["${id}"],"results":[${large}]}]}`,
  );
  expect(await text("GET", `/jobs/${id}`)).toContain(`"result":${large}`);
  expect(await text("GET", `/jobs/${id}/result?waitSeconds=5`)).toContain(`"result":${large}`);
});

it("many at once are exact too, and an option or a name is not a place for one", async () => {
  const { items } = JSON.parse(
    await text("POST", "/jobs/many", `{"jobs":[{"type":"b","input":${large}},{"type":"b","input":[${large}]}]}`),
  ) as { items: { id: string }[] };
  expect(await text("GET", `/jobs/${items[0]!.id}`)).toContain(`"input":${large}`);
  expect(await text("GET", `/jobs/${items[1]!.id}`)).toContain(`"input":[${large}]`);
  for (const body of [`{"type":${large}}`, `{"type":"b","priority":${large}}`, `{"type":"b","group":${large}}`])
    expect(await server.ask("POST", "/jobs", body)).toMatchObject({ status: 400 });
});
