"""Make the calls that come on standard input, one JSON object a line, and print what each gave."""

import base64
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError


def with_bytes(value):
    if isinstance(value, dict):
        return base64.b64decode(value["base64"]) if list(value) == ["base64"] else {key: with_bytes(item) for key, item in value.items()}
    return [with_bytes(item) for item in value] if isinstance(value, list) else value


def without_bytes(value):
    return {"base64": base64.b64encode(value).decode()}


endpoint, access_key, secret = sys.argv[1:]
client = boto3.client(
    "sqs",
    endpoint_url=endpoint,
    region_name="eu-central-1",
    aws_access_key_id=access_key,
    aws_secret_access_key=secret,
    config=Config(retries={"max_attempts": 0}, parameter_validation=False),
)
# Hashes are canned, and not compared.
client.meta.events.unregister("after-call.sqs.SendMessage")

for line in sys.stdin:
    call = json.loads(line)
    method = getattr(client, boto3.session.botocore.xform_name(call["action"]), None)
    if method is None:
        print(json.dumps({"unknown": call["action"]}), flush=True)
        continue
    try:
        output = method(**with_bytes(call["input"]))
        output.pop("ResponseMetadata")
        answer = {"output": output}
    except ClientError as error:
        answer = {"error": error.response["Error"], "class": type(error).__name__, "status": error.response["ResponseMetadata"]["HTTPStatusCode"]}
    print(json.dumps(answer, default=without_bytes), flush=True)
