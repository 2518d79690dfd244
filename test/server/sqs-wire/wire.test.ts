import { describe, expect, it } from "vitest";
import { SqsError } from "../../../src/server/sqs/wire/errors.js";
import { maxBodyBytes, maxItems, maxParameters } from "../../../src/server/sqs/wire/limits.js";
import type { WireRequest } from "../../../src/server/sqs/wire/request.js";
import {
  type Call,
  type WireAnswer,
  readRequest,
  refuseBody,
  writeError,
  writeOutput,
} from "../../../src/server/sqs/wire/wire.js";
import { get, jsonRequest, post, request } from "./requests.js";
import { hardText } from "./samples.js";

function callOf(of: WireRequest): Call {
  const read = readRequest(of, "open");
  if ("refusal" in read) throw new Error(read.refusal.body);
  return read.call;
}

function refusalOf(of: WireRequest): WireAnswer {
  const read = readRequest(of, "open");
  if ("call" in read) throw new Error(`read as ${read.call.action}`);
  return read.refusal;
}

function inputOf(of: WireRequest): unknown {
  return callOf(of).input;
}

describe("telling the protocols apart", () => {
  it("goes by the content type, with or without parameters, and never by the path", () => {
    expect(callOf(jsonRequest("ListQueues", {}, "/123456789012/q")).protocol).toBe("json");
    expect(
      callOf(
        request({
          headers: {
            "content-type": ["application/x-amz-json-1.0; charset=utf-8"],
            "x-amz-target": ["AmazonSQS.ListQueues"],
          },
        }),
      ).protocol,
    ).toBe("json");
    for (const type of [
      "application/x-www-form-urlencoded",
      "application/x-www-form-urlencoded; charset=utf-8",
      "Application/X-WWW-Form-URLencoded;charset=UTF-8",
    ])
      expect(
        callOf(request({ headers: { "content-type": [type] }, body: Buffer.from("Action=ListQueues") })).protocol,
      ).toBe("query");
    expect(callOf(get("/?Action=ListQueues")).protocol).toBe("query");
  });

  it("answers 404 where no action is named, in the form AWS has for it, whatever is accepted", () => {
    for (const of of [
      get("/123456789012/q"),
      get("/"),
      post(""),
      post("Foo=Bar"),
      request({ method: "DELETE", url: "/?Action=ListQueues" }),
      request({ headers: { "content-type": ["text/plain"] } }),
    ])
      for (const accept of ["text/xml", "application/json"]) {
        const answer = refusalOf({ ...of, headers: { ...of.headers, accept: [accept] } });
        expect([answer.status, answer.headers["content-type"], answer.body.trim()]).toEqual([
          404,
          "text/xml",
          "<UnknownOperationException/>",
        ]);
      }
    const json = refusalOf(
      request({
        headers: { "content-type": ["application/x-amz-json-1.0"], "x-amz-target": ["AmazonSNS.ListTopics"] },
      }),
    );
    expect(json.status).toBe(404);
    expect(JSON.parse(json.body)).toMatchObject({ __type: "com.amazon.coral.service#UnknownOperationException" });
    expect(refusalOf(jsonRequest("constructor", {})).status).toBe(404);
  });

  it("refuses unknown actions of Query, and those about all queues at the address of one", () => {
    for (const [of, action] of [
      [get("/123456789012/q?Action=ListQueues"), "ListQueues"],
      [post("Action=CreateQueue&QueueName=x", "/123456789012/q"), "CreateQueue"],
      [post("Action=FooBar"), "FooBar"],
      [post("Action=__proto__"), "__proto__"],
      [post("Action="), ""],
    ] as const) {
      const { status, body } = refusalOf(of);
      expect(status).toBe(400);
      expect(body).toContain(
        `<Error><Type>Sender</Type><Code>InvalidAction</Code><Message>The action ${action} is not valid for this endpoint.</Message><Detail/></Error>`,
      );
    }
    expect(callOf(get("/123456789012/q?Action=GetQueueUrl&QueueName=other"))).toMatchObject({
      input: { QueueName: "other" },
    });
    expect(callOf(post("Action=CreateQueue&QueueName=x", "/123456789012/"))).toMatchObject({ action: "CreateQueue" });
  });

  it("takes a queue from the path where the request names none, as kombu asks", () => {
    expect(
      inputOf(post("WaitTimeSeconds=20&MaxNumberOfMessages=10&Action=ReceiveMessage", "/123456789012/celery")),
    ).toEqual({
      QueueUrl: "/123456789012/celery",
      WaitTimeSeconds: 20,
      MaxNumberOfMessages: 10,
    });
    expect(inputOf(post("Action=PurgeQueue&QueueUrl=http%3A%2F%2Fh%2F1%2Fother", "/123456789012/q"))).toEqual({
      QueueUrl: "http://h/1/other",
    });
    expect(inputOf(jsonRequest("PurgeQueue", { QueueUrl: null }, "/1/q/"))).toEqual({ QueueUrl: "/1/q" });
  });

  it("hands on the trace header, and the region of the scope in development", () => {
    const traced = jsonRequest("ListQueues", {});
    const scope =
      "AWS4-HMAC-SHA256 Credential=any/20250101/ap-south-2/sqs/aws4_request, SignedHeaders=host, Signature=nonsense";
    const headers = {
      ...traced.headers,
      "x-amzn-trace-id": ["Root=1"],
      authorization: [scope],
      "x-amz-date": ["20250101T000000Z"],
    };
    expect(callOf({ ...traced, headers })).toMatchObject({
      traceHeader: "Root=1",
      region: "ap-south-2",
      account: "000000000000",
    });
    expect(callOf({ ...traced, headers: { ...traced.headers, authorization: ["Bearer nonsense"] } })).toMatchObject({
      region: "us-east-1",
    });
  });
});

describe("reading JSON", () => {
  const refused = (action: string, input: unknown) => {
    const { status, headers, body } = refusalOf(jsonRequest(action, input));
    const { __type, message } = JSON.parse(body) as { __type: string; message: string };
    return [status, __type.split("#")[1], message, headers["x-amzn-query-error"]];
  };

  it("refuses values of another type than the model's", () => {
    const name = "SerializationException";
    expect(refused("ReceiveMessage", { QueueUrl: "q", MaxNumberOfMessages: "10" })).toEqual([
      400,
      name,
      "STRING_VALUE can not be converted to an Integer",
      `${name};Sender`,
    ]);
    for (const [action, input, message] of [
      [
        "ReceiveMessage",
        { QueueUrl: "q", MaxNumberOfMessages: 1.5 },
        "DECIMAL_VALUE can not be converted to an Integer",
      ],
      [
        "ReceiveMessage",
        { QueueUrl: "q", MaxNumberOfMessages: 2 ** 31 },
        "NUMBER_VALUE can not be converted to an Integer",
      ],
      ["PurgeQueue", { QueueUrl: 1 }, "NUMBER_VALUE can not be converted to a String"],
      ["PurgeQueue", { QueueUrl: true }, "TRUE_VALUE can not be converted to a String"],
      ["PurgeQueue", { QueueUrl: ["q"] }, "Start of list found where not expected."],
      ["PurgeQueue", { QueueUrl: {} }, "Start of structure or map found where not expected."],
      ["UntagQueue", { QueueUrl: "q", TagKeys: "a" }, "Expected list or null"],
      ["TagQueue", { QueueUrl: "q", Tags: ["a"] }, "Expected map or null"],
      ["TagQueue", { QueueUrl: "q", Tags: { a: 1 } }, "NUMBER_VALUE can not be converted to a String"],
      ["SendMessageBatch", { QueueUrl: "q", Entries: [1] }, "Expected structure or null"],
      [
        "SendMessage",
        {
          QueueUrl: "q",
          MessageBody: "b",
          MessageAttributes: { a: { DataType: "Binary", BinaryValue: "not base64" } },
        },
        "A binary value must be base64",
      ],
      ["SendMessageBatch", [], "Expected structure or null"],
      ["SendMessageBatch", null, "Expected structure or null"],
    ] as const)
      expect(refused(action, input).slice(0, 3)).toEqual([400, name, message]);
    for (const body of ["{", "{}}", "nul", '{"a":1,}', "\u0000", Buffer.from([0x22, 0xff, 0x22])])
      expect(
        JSON.parse(refusalOf({ ...jsonRequest("ListQueues", {}), body: Buffer.from(body as string) }).body),
      ).toMatchObject({
        message: "The body is not JSON in UTF-8",
      });
  });

  it("names required members that are missing, and gives lists and maps as empty ones", () => {
    const missing = (name: string) => [
      400,
      "MissingRequiredParameterException",
      `The request must contain the parameter ${name}.`,
      "MissingParameter;Sender",
    ];
    expect(refused("PurgeQueue", {})).toEqual(missing("QueueUrl"));
    expect(refused("SendMessage", { QueueUrl: "q", MessageBody: null })).toEqual(missing("MessageBody"));
    expect(
      refused("SendMessageBatch", { QueueUrl: "q", Entries: [{ Id: "a", MessageBody: "b" }, { Id: "b" }] }),
    ).toEqual(missing("SendMessageBatchRequestEntry.2.MessageBody"));
    expect(inputOf(jsonRequest("SendMessageBatch", { QueueUrl: "q" }))).toEqual({ QueueUrl: "q", Entries: [] });
    expect(inputOf(jsonRequest("TagQueue", { QueueUrl: "q" }))).toEqual({ QueueUrl: "q", Tags: {} });
    expect(inputOf(jsonRequest("ListQueues", {}))).toEqual({});
    expect(inputOf({ ...jsonRequest("ListQueues", {}), body: Buffer.alloc(0) })).toEqual({});
  });

  it("ignores unknown members, and takes any name as data", () => {
    const body = Buffer.from(
      `{"Unknown":${"[".repeat(50)}${"]".repeat(50)},"QueueUrl":"q","Tags":{"__proto__":"a","constructor":"b","toString":"c"},"__proto__":{"polluted":"yes"}}`,
    );
    const { Tags } = inputOf({ ...jsonRequest("TagQueue", {}), body }) as { Tags: Record<string, string> };
    expect(Object.entries(Tags)).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
      ["toString", "c"],
    ]);
    expect(({} as { polluted?: string }).polluted).toBeUndefined();
    expect(Tags["valueOf"]).toBeUndefined();
  });

  it("bounds levels before it makes objects of them, even of unknown members", () => {
    const body = Buffer.from(`{"Unknown":${"[".repeat(2_000_000)}${"]".repeat(2_000_000)},"QueueUrl":"q"}`);
    const read = readRequest({ ...jsonRequest("TagQueue", {}), body }, "open");
    expect(read).toMatchObject({ refusal: { status: 400, body: expect.stringContaining("#SerializationException") } });
  });

  it("bounds lists and maps", () => {
    expect(
      refused("UntagQueue", { QueueUrl: "q", TagKeys: Array.from({ length: maxItems + 1 }, String) })[2],
    ).toContain(`${maxItems} items`);
    expect(
      refused("TagQueue", {
        QueueUrl: "q",
        Tags: Object.fromEntries(Array.from({ length: maxItems + 1 }, (_, at) => [`t${at}`, ""])),
      })[2],
    ).toContain(`${maxItems} items`);
    expect(
      (
        inputOf(jsonRequest("UntagQueue", { QueueUrl: "q", TagKeys: Array.from({ length: maxItems }, String) })) as {
          TagKeys: string[];
        }
      ).TagKeys,
    ).toHaveLength(maxItems);
  });
});

describe("reading forms", () => {
  const error = (body: string) =>
    /<Code>(.*)<\/Code><Message>(.*)<\/Message>/s.exec(refusalOf(post(body)).body)?.slice(1, 3);

  it("reads flat lists and maps in the order of their numbers", () => {
    expect(inputOf(post("Action=UntagQueue&QueueUrl=q&TagKey.10=j&TagKey.2=b&TagKey.1=a"))).toEqual({
      QueueUrl: "q",
      TagKeys: ["a", "b", "j"],
    });
    expect(
      inputOf(post("Action=TagQueue&QueueUrl=q&Tag.1.Key=__proto__&Tag.1.Value=x&Tag.2.Key=a+b&Tag.2.Value=")),
    ).toEqual(JSON.parse('{"QueueUrl":"q","Tags":{"__proto__":"x","a b":""}}'));
    expect(
      inputOf(post("Action=SetQueueAttributes&QueueUrl=q&Attribute.Name=VisibilityTimeout&Attribute.Value=35")),
    ).toEqual({
      QueueUrl: "q",
      Attributes: { VisibilityTimeout: "35" },
    });
    expect(inputOf(post("Action=GetQueueAttributes&QueueUrl=q&AttributeName=All"))).toEqual({
      QueueUrl: "q",
      AttributeNames: ["All"],
    });
    expect(inputOf(post("Action=DeleteMessageBatch&QueueUrl=q&Entries="))).toEqual({ QueueUrl: "q", Entries: [] });
    expect(inputOf(post("Action=ReceiveMessage&QueueUrl=q&MessageSystemAttributeName.1=All"))).toEqual({
      QueueUrl: "q",
      MessageSystemAttributeNames: ["All"],
    });
  });

  it("merges the query string and the body, both of a POST", () => {
    const of = { ...post("MessageBody=b", "/1/q"), url: "/1/q?Action=SendMessage&Version=2012-11-05" };
    expect(inputOf(of)).toEqual({ QueueUrl: "/1/q", MessageBody: "b" });
    expect(callOf({ ...of, headers: {}, body: Buffer.from("x"), url: "/1/q?Action=PurgeQueue" }).action).toBe(
      "PurgeQueue",
    );
  });

  it("refuses what is no form, no number, no base64, and parameters that are missing", () => {
    expect(error("Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=ten")).toEqual([
      "MalformedInput",
      "A parameter can not be converted to an Integer",
    ]);
    for (const value of ["", "1.5", "1e3", "0x10", "99999999999", "2147483648", "٣"])
      expect(error(`Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=${encodeURIComponent(value)}`)?.[0]).toBe(
        "MalformedInput",
      );
    expect(error("Action=ListQueues&QueueNamePrefix=%FF")?.[0]).toBe("MalformedQueryString");
    expect(error("Action=ListQueues&QueueNamePrefix=%")?.[0]).toBe("MalformedQueryString");
    expect(refusalOf({ ...post(""), body: Buffer.from([...Buffer.from("Action=ListQueues&a="), 0xff]) }).status).toBe(
      400,
    );
    expect(error("Action=SendMessage&QueueUrl=q")).toEqual([
      "MissingParameter",
      "The request must contain the parameter MessageBody.",
    ]);
    expect(error("Action=SendMessageBatch&QueueUrl=q&SendMessageBatchRequestEntry.3.Id=a")).toEqual([
      "MissingParameter",
      "The request must contain the parameter SendMessageBatchRequestEntry.3.MessageBody.",
    ]);
    expect(error("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=a")).toEqual([
      "MissingParameter",
      "The request must contain the parameter MessageAttribute.1.Value.",
    ]);
  });

  it("bounds the number of parameters, and ignores names deeper than any it knows", () => {
    expect(error(`Action=ListQueues${"&a=b".repeat(maxParameters)}`)?.[0]).toBe("MalformedQueryString");
    expect(error(`Action=ListQueues${"&".repeat(maxParameters)}`)?.[0]).toBe("MalformedQueryString");
    expect(inputOf(post(`Action=ListQueues${"&a=b".repeat(maxParameters - 1)}`))).toEqual({});
    expect(inputOf(post(`Action=ListQueues&${"a.".repeat(100_000)}=b`))).toEqual({});
  });

  it("reads the largest requests in time", () => {
    const began = performance.now();
    const text = "é".repeat(maxBodyBytes / 6 - 1000);
    expect(
      (
        inputOf(post(`Action=SendMessage&QueueUrl=q&MessageBody=${encodeURIComponent(text)}`)) as {
          MessageBody: string;
        }
      ).MessageBody,
    ).toBe(text);
    for (const body of ["&", "=", "%41", "a.", "+", "1.1.1.1.1.1.1=&"])
      readRequest(post(`Action=ListQueues&${body.repeat(maxBodyBytes / body.length)}`), "open");
    for (const [begin, item, end] of [
      ['{"TagKeys":[', '"",', '""]}'],
      ['{"Tags":{', '"":"",', '"":""}}'],
      ["", "[", ""],
      ['{"a":', '{"a":', ""],
      ['"', "\\u0041", '"'],
    ] as const)
      readRequest(
        { ...jsonRequest("TagQueue", {}), body: Buffer.from(begin + item.repeat(maxBodyBytes / item.length) + end) },
        "open",
      );
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

describe("answers", () => {
  const id = "33081694-29cf-5fe7-8296-765605dcb92b";
  const receive = (accept?: string) =>
    callOf({
      ...post("Action=ReceiveMessage&QueueUrl=q"),
      id,
      ...(accept ? { headers: { ...post("").headers, accept: [accept] } } : {}),
    });

  it("in JSON: members in the order of the alphabet, nothing at all without output", () => {
    const sent = writeOutput(callOf({ ...jsonRequest("SendMessage", { QueueUrl: "q", MessageBody: "b" }), id }), {
      SequenceNumber: undefined,
      MessageId: "m",
      MD5OfMessageBody: "5",
    });
    expect(sent).toEqual({
      status: 200,
      headers: { "x-amzn-RequestId": id, "content-type": "application/x-amz-json-1.0" },
      body: '{"MD5OfMessageBody":"5","MessageId":"m"}',
    });
    expect(writeOutput(callOf(jsonRequest("PurgeQueue", { QueueUrl: "q" })), undefined).body).toBe("");
    expect(
      writeOutput(callOf(jsonRequest("ListDeadLetterSourceQueues", { QueueUrl: "q" })), { queueUrls: [] }).body,
    ).toBe('{"queueUrls":[]}');
    expect(writeOutput(callOf(jsonRequest("ReceiveMessage", { QueueUrl: "q" })), { Messages: [] }).body).toBe("{}");
  });

  it("of errors in JSON: type with namespace, lower-case message, the Query code in a header", () => {
    const { replyTo } = callOf({ ...jsonRequest("ListQueues", {}), id });
    expect(writeError(replyTo, new SqsError("QueueDoesNotExist"))).toEqual({
      status: 400,
      headers: {
        "x-amzn-RequestId": id,
        "content-type": "application/x-amz-json-1.0",
        "x-amzn-query-error": "AWS.SimpleQueueService.NonExistentQueue;Sender",
      },
      body: '{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The specified queue does not exist."}',
    });
    expect(writeError(replyTo, new TypeError("x is undefined")).headers["x-amzn-query-error"]).toBe(
      "InternalFailure;Receiver",
    );
  });

  it("in XML: the form AWS gives", () => {
    const empty = `<?xml version="1.0"?><ReceiveMessageResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><ReceiveMessageResult/><ResponseMetadata><RequestId>${id}</RequestId></ResponseMetadata></ReceiveMessageResponse>`;
    expect(writeOutput(receive(), { Messages: [] })).toEqual({
      status: 200,
      headers: { "x-amzn-RequestId": id, "content-type": "text/xml" },
      body: empty,
    });
    const { body } = writeOutput(receive(), {
      Messages: [
        {
          Body: 'a\r\n"<&>\u0000\uD800\uFFFE',
          Attributes: { a: "1" },
          MessageAttributes: { b: { DataType: "Binary", BinaryValue: Buffer.from("x") } },
        },
      ],
    });
    expect(body).toContain("<Body>a&#xD;\n&quot;&lt;&amp;&gt;\uFFFD\uFFFD\uFFFD</Body>");
    expect(body).toContain("<Message><Attribute><Name>a</Name><Value>1</Value></Attribute>");
    expect(body).toContain(
      "<MessageAttribute><Name>b</Name><Value><BinaryValue>eA==</BinaryValue><DataType>Binary</DataType></Value></MessageAttribute>",
    );
    const purge = writeOutput(callOf(post("Action=PurgeQueue&QueueUrl=q")), undefined).body;
    expect(purge).toMatch(/^<\?xml version="1.0"\?><PurgeQueueResponse xmlns="[^"]+"><ResponseMetadata>/);
  });

  it("of errors in XML: with an empty detail, and the one text that differs", () => {
    const error = (thrown: Error) => writeError(receive().replyTo, thrown).body;
    expect(error(new SqsError("QueueDoesNotExist"))).toBe(
      `<?xml version="1.0"?><ErrorResponse xmlns="http://queue.amazonaws.com/doc/2012-11-05/"><Error><Type>Sender</Type><Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does not exist for this wsdl version.</Message><Detail/></Error><RequestId>${id}</RequestId></ErrorResponse>`,
    );
    expect(error(new SqsError("QueueDeletedRecently"))).not.toContain("wsdl");
    expect(error(new SqsError("ReceiptHandleIsInvalid", '"\u0001<'))).toContain("<Message>&quot;\uFFFD&lt;</Message>");
  });

  it("of Query in JSON, where that is accepted", () => {
    const call = callOf({ ...get("/1/q?Action=GetQueueAttributes"), id, headers: { accept: ["application/json"] } });
    const { headers, body } = writeOutput(call as never, { Attributes: { a: "1" } });
    expect(headers["content-type"]).toBe("application/json");
    expect(JSON.parse(body)).toEqual({
      GetQueueAttributesResponse: {
        GetQueueAttributesResult: { Attributes: [{ Name: "a", Value: "1" }] },
        ResponseMetadata: { RequestId: id },
      },
    });
    expect(JSON.parse(writeError(receive("application/json").replyTo, new SqsError("QueueDoesNotExist")).body)).toEqual(
      {
        Error: {
          Code: "AWS.SimpleQueueService.NonExistentQueue",
          Detail: null,
          Message: "The specified queue does not exist for this wsdl version.",
          Type: "Sender",
        },
        RequestId: id,
      },
    );
  });

  it("of a mistake tell what was sent, but not all of a long one", () => {
    const { body } = writeError(
      { requestId: id, form: "json" },
      new SqsError("InvalidParameterValueException", `Value ${"x".repeat(4_000_000)} is invalid.`),
    );
    expect(body).toContain("Value xxx");
    expect(body.length).toBeLessThan(50_000);
  });

  it("of what is too long to be read", () => {
    const batch = jsonRequest("SendMessageBatch", {});
    expect(refuseBody({ ...batch, headers: { ...batch.headers, "content-length": ["5000000"] } })).toMatchObject({
      status: 400,
      body: '{"__type":"com.amazonaws.sqs#BatchRequestTooLong","message":"Batch requests cannot be longer than 1048576 bytes. You have sent 5000000 bytes."}',
    });
    expect(refuseBody(post("")).body).toContain(
      "<Code>InvalidParameterValue</Code><Message>One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes.</Message>",
    );
  });

  it("carry every text both ways", () => {
    expect(
      inputOf(post(new URLSearchParams({ Action: "SendMessage", QueueUrl: "q", MessageBody: hardText }).toString())),
    ).toMatchObject({
      MessageBody: hardText,
    });
    expect(inputOf(jsonRequest("SendMessage", { QueueUrl: "q", MessageBody: hardText }))).toMatchObject({
      MessageBody: hardText,
    });
  });
});
