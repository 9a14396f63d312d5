// Runs jobs through BullMQ: `node bullmq.mjs <port> <jobs> <batch>`. Prints `ready`, waits for a line, runs the jobs, and prints
// `done`. A batch of 1 enqueues and works one job at a time.
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Queue, Worker } from "bullmq";

const [port, count, batch] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
const queue = new Queue("bench", { connection });
const payload = { text: "x".repeat(239) };
let completed = 0;
const finished = Promise.withResolvers?.() ?? deferred();

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve) => (parts.resolve = resolve));
  return parts;
}

await queue.waitUntilReady();
const input = createInterface({ input: process.stdin });
console.log("ready");
await once(input, "line");
const worker = new Worker("bench", async () => null, {
  connection,
  concurrency: batch,
  removeOnComplete: { age: 3600 },
});
worker.on("completed", () => {
  completed += 1;
  if (completed === count) finished.resolve();
});
worker.on("error", (error) => {
  console.error(error);
  process.exit(1);
});
for (let sent = 0; sent < count; sent += batch) {
  if (batch === 1) {
    await queue.add("job", payload);
  } else {
    await queue.addBulk(Array.from({ length: batch }, () => ({ name: "job", data: payload })));
  }
}
await finished.promise;
console.log("done");
await once(input, "close");
process.exit(0);
