// A server in a process of its own, for tests that kill it: says where it listens, and stays.
import { startServer } from "../../dist/server/server.js";

const server = await startServer({ connection: process.argv[2], port: 0, sqs: { anyKey: true } });
console.log(server.url);
