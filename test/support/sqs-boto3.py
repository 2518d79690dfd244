# What a Python program does with a queue, by boto3: prints one JSON object of what it saw.
import json
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

endpoint, name = sys.argv[1:]
sqs = boto3.client(
    "sqs",
    endpoint_url=endpoint,
    region_name="us-east-1",
    aws_access_key_id="any",
    aws_secret_access_key="any",
    config=Config(retries={"max_attempts": 1}),
)
saw = {}
url = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "20"}, tags={"made": "by python"})["QueueUrl"]
saw["url"] = url
saw["tags"] = sqs.list_queue_tags(QueueUrl=url)["Tags"]
attributes = {"s": {"DataType": "String", "StringValue": "ä"}, "b": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}, "n": {"DataType": "Number", "StringValue": "1"}}
sent = sqs.send_message(QueueUrl=url, MessageBody=json.dumps({"order": 7, "emoji": "\U0001f600"}), MessageAttributes=attributes)
batch = sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": f"m{i}\r\n<&>"} for i in range(5)])
saw["sent"] = len(batch["Successful"])
got = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1, AttributeNames=["All"], MessageAttributeNames=["All"])["Messages"]
saw["bodies"] = [m["Body"] for m in got]
saw["isSame"] = got[0]["MessageId"] == sent["MessageId"] and got[0]["MessageAttributes"] == attributes
sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=got[0]["ReceiptHandle"], VisibilityTimeout=0)
again = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=2, AttributeNames=["ApproximateReceiveCount"])["Messages"]
saw["count"] = again[0]["Attributes"]["ApproximateReceiveCount"]
sqs.delete_message(QueueUrl=url, ReceiptHandle=again[0]["ReceiptHandle"])
saw["deleted"] = len(sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "ReceiptHandle": m["ReceiptHandle"]} for i, m in enumerate(got[1:])])["Successful"])
saw["empty"] = "Messages" not in sqs.receive_message(QueueUrl=url)
sqs.delete_queue(QueueUrl=url)
try:
    sqs.get_queue_url(QueueName=name)
except sqs.exceptions.QueueDoesNotExist as error:
    saw["code"] = error.response["Error"]["Code"]
try:
    sqs.receive_message(QueueUrl=endpoint + "/000000000000/none")
except ClientError as error:
    saw["message"] = error.response["Error"]["Message"]
print(json.dumps(saw))
