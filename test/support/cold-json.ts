/** Parses the text in its `workerData` in a thread that has parsed nothing yet, and posts its cost, in milliseconds of processor time. */
import { parentPort, workerData } from 'node:worker_threads';
import { JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';

const { text, limits } = workerData;
const before = process.cpuUsage();
try {
  parseStrictJson(text, limits);
} catch (error) {
  if (!(error instanceof JsonSyntaxError)) throw error;
}
const { user, system } = process.cpuUsage(before);
parentPort?.postMessage((user + system) / 1000);
