/** Parses the text on its standard input in a process that has parsed nothing yet, and prints what that cost, in milliseconds of processor time. */
import { readFileSync } from 'node:fs';
import { JsonSyntaxError, parseStrictJson } from '@signet/policy-engine/json';

const text = readFileSync(0, 'utf8');
const limits = JSON.parse(process.argv[2] ?? '{}');
const before = process.cpuUsage();
try {
  parseStrictJson(text, limits);
} catch (error) {
  if (!(error instanceof JsonSyntaxError)) throw error;
}
const { user, system } = process.cpuUsage(before);
process.stdout.write(String((user + system) / 1000));
