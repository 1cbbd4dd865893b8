/**
 * Loads a signed bundle of a given size into a running engine, or does with its payload what no loader can do without: SHA-256 and
 * `JSON.parse`. Each in a process that did neither before; `again` in one that has loaded a bundle of that size three times. `turn` is a load
 * whose turns of the event loop are watched: what that takes is not processor time of a load.
 */
import { createHash } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { PolicyEngine } from '@signet/policy-engine';
import { domain } from '../decisions/workload.ts';
import { answerOrders } from '../measure/answer-order.ts';
import { costOf, measureOwn } from '../measure/own-cpu.ts';
import { assertionsFor, bundleText, newSigningPair } from './bundle.ts';

export interface LoadingOrder {
  readonly megabytes: number;
  readonly what: 'load' | 'again' | 'least' | 'turn';
  /** Where instructions are counted instead: the folder of the counter. */
  readonly countIn?: string;
}

/** Milliseconds, or instructions. */
async function measure(order: LoadingOrder): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  try {
    return await (order.what === 'least' ? measureLeast(order) : measureLoad(folder, order));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** From the look at the directory until the new bundle decides. */
async function measureLoad(folder: string, { megabytes, what, countIn }: LoadingOrder): Promise<number> {
  const size = assertionsFor(megabytes);
  const before = what === 'again' ? 3 : 0;
  const pair = newSigningPair();
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ issuer: 'https://localhost:4443/v1', ...pair.keys }));
  const file = join(folder, `${domain}.pol`);
  const place = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  place((await bundleText(100, 1, pair)).text);
  await using engine = await PolicyEngine.open({ policyDir: folder, watch: false });
  for (let version = 2; version < 2 + before; version += 1) {
    place((await bundleText(size, version, pair)).text);
    await engine.refresh();
  }
  place((await bundleText(size, 2 + before, pair)).text);
  await delay(200);
  const load = () => engine.refresh();
  const cost = what === 'turn' ? (await measureOwn(load)).longestTurnMs : await costOf(load, countIn);
  checkInForce(engine, size);
  return cost;
}

async function measureLeast({ megabytes, countIn }: LoadingOrder): Promise<number> {
  const { payload } = await bundleText(assertionsFor(megabytes), 2, newSigningPair());
  const bytes = Buffer.from(payload);
  await delay(200);
  let parsed: unknown;
  const least = async () => {
    createHash('sha256').update(bytes).digest();
    parsed = JSON.parse(payload);
  };
  const cost = await costOf(least, countIn);
  if (parsed === undefined) throw new Error('no payload');
  return cost;
}

function checkInForce(engine: PolicyEngine, size: number): void {
  const { assertions } = engine.health().domains.find((entry) => entry.domain === domain) ?? {};
  if (assertions !== size) throw new Error(`the bundle is not in force: ${JSON.stringify(engine.health())}`);
}

answerOrders(measure);
