# What somebody does with a queue on a command line. Given: the aws command, the endpoint, a name. Prints what it saw, a line each.
set -eu
aws=$1 endpoint=$2 name=$3
export AWS_ACCESS_KEY_ID=any AWS_SECRET_ACCESS_KEY=anyanyany AWS_DEFAULT_REGION=us-east-1 AWS_PAGER= AWS_EC2_METADATA_DISABLED=true AWS_MAX_ATTEMPTS=1
sqs() { "$aws" --endpoint-url "$endpoint" --output text sqs "$@"; }

dead=$(sqs create-queue --queue-name "$name-dead" --query QueueUrl)
arn=$(sqs get-queue-attributes --queue-url "$dead" --attribute-names QueueArn --query Attributes.QueueArn)
url=$(sqs create-queue --queue-name "$name" --query QueueUrl --tags made=by-hand \
  --attributes "{\"VisibilityTimeout\":\"20\",\"RedrivePolicy\":\"{\\\"deadLetterTargetArn\\\":\\\"$arn\\\",\\\"maxReceiveCount\\\":\\\"5\\\"}\"}")
echo "listed $(sqs list-queues --queue-name-prefix "$name" --query 'length(QueueUrls)')"
echo "same $([ "$(sqs get-queue-url --queue-name "$name" --query QueueUrl)" = "$url" ] && echo yes)"
echo "tags $(sqs list-queue-tags --queue-url "$url" --query Tags.made)"
echo "sources $(sqs list-dead-letter-source-queues --queue-url "$dead" --query 'length(queueUrls)')"
sqs send-message --queue-url "$url" --message-body 'one <&> "1"' --message-attributes 'n={DataType=Number,StringValue=1},b={DataType=Binary,BinaryValue=YWJj}' > /dev/null
echo "sent $(sqs send-message-batch --queue-url "$url" --entries 'Id=a,MessageBody=two' 'Id=b,MessageBody=three,DelaySeconds=1' --query 'length(Successful)')"
echo "got $(sqs receive-message --queue-url "$url" --attribute-names All --message-attribute-names All --query 'Messages[0].[Body,MessageAttributes.n.StringValue,Attributes.ApproximateReceiveCount]')"
handle=$(sqs receive-message --queue-url "$url" --wait-time-seconds 2 --query 'Messages[0].ReceiptHandle')
sqs change-message-visibility --queue-url "$url" --receipt-handle "$handle" --visibility-timeout 100
sqs delete-message --queue-url "$url" --receipt-handle "$handle"
echo "third $(sqs receive-message --queue-url "$url" --wait-time-seconds 5 --query 'Messages[0].Body')"
echo "counts $(sqs get-queue-attributes --queue-url "$url" --attribute-names All --query 'Attributes.[ApproximateNumberOfMessages,ApproximateNumberOfMessagesNotVisible,VisibilityTimeout]')"
sqs set-queue-attributes --queue-url "$url" --attributes VisibilityTimeout=7
sqs tag-queue --queue-url "$url" --tags more=yes
sqs untag-queue --queue-url "$url" --tag-keys made
echo "changed $(sqs get-queue-attributes --queue-url "$url" --attribute-names VisibilityTimeout --query Attributes.VisibilityTimeout) $(sqs list-queue-tags --queue-url "$url" --query 'Tags.[made,more]')"
sqs purge-queue --queue-url "$url"
sqs delete-queue --queue-url "$url"
sqs delete-queue --queue-url "$dead"
sqs get-queue-url --queue-name "$name" 2>&1 | grep -o 'NonExistentQueue' || true
