/** Loads a signed bundle of a given size into a running engine and reports what the event loop felt of it. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { PolicyEngine } from '@signet/policy-engine';
import { buildBundle, signBundle } from '@signet/policy-engine/bundle';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Jwk, JwkList } from '@signet/policy-engine/wire';
import { createWorkload, domain } from '../decisions/workload.ts';

export interface LoadingOrder {
  readonly megabytes: number;
}

/** Milliseconds, apart from the sizes in bytes. */
export interface LoadingResult {
  readonly bytes: number;
  readonly assertions: number;
  /** Processor time from the look at the directory until the new bundle decides. */
  readonly loadCpuMs: number;
  readonly longestStallMs: number;
  /** Processor time of `JSON.parse` alone over the same payload: no loader can do with less in one go. */
  readonly parseCpuMs: number;
}

const bytesPerAssertion = 140;

function cpuMs(start: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}

async function bundleText(
  size: number,
  version: number,
  key: ReturnType<typeof generateKeyPairSync>,
): Promise<{ text: string; payload: string }> {
  const { rules } = createWorkload({ size, layout: 'many roles', kind: 'exact' });
  const now = systemClock.now();
  const assertions = rules.map((rule, id) => ({ ...rule, id, role: `${domain}:role.${rule.role}` }));
  const data = buildBundle({
    domain: parseDomainName(domain),
    epoch: 1,
    version,
    modified: now,
    issued: now,
    expires: now + 86_400_000,
    policies: [{ name: `${domain}:policy.benchmark`, modified: '2026-01-01T00:00:00.000Z', assertions }],
  });
  const { privateKey } = key;
  if (typeof privateKey === 'string' || Buffer.isBuffer(privateKey)) throw new Error('no key object');
  const text = JSON.stringify(await signBundle(data, { kid: 'benchmark', privateKey }));
  return { text, payload: JSON.stringify(data) };
}

async function measure({ megabytes }: LoadingOrder): Promise<LoadingResult> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-bench-'));
  try {
    return await measureIn(folder, Math.round((megabytes * 1_000_000) / bytesPerAssertion));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureIn(folder: string, size: number): Promise<LoadingResult> {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', crv: 'P-256', x, y, kid: 'benchmark', alg: 'ES256', use: 'sig', purpose: 'bundle' };
  const keys: JwkList = { keys: [jwk] };
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ issuer: 'https://localhost:4443/v1', ...keys }));
  const file = join(folder, `${domain}.pol`);
  const place = (text: string): void => {
    writeFileSync(`${file}.new`, text);
    renameSync(`${file}.new`, file);
  };
  place((await bundleText(100, 1, pair)).text);
  await using engine = await PolicyEngine.open({ policyDir: folder, watch: false });
  const { text, payload } = await bundleText(size, 2, pair);
  place(text);
  await delay(200);
  const monitor = monitorEventLoopDelay({ resolution: 1 });
  monitor.enable();
  await delay(50);
  monitor.reset();
  const start = process.cpuUsage();
  await engine.refresh();
  const loadCpuMs = cpuMs(start);
  await delay(20);
  monitor.disable();
  checkInForce(engine, size);
  const parseStart = process.cpuUsage();
  const parsed: unknown = JSON.parse(payload);
  const parseCpuMs = cpuMs(parseStart);
  if (parsed === null) throw new Error('no payload');
  return { bytes: text.length, assertions: size, loadCpuMs, longestStallMs: monitor.max / 1e6, parseCpuMs };
}

function checkInForce(engine: PolicyEngine, size: number): void {
  const { assertions } = engine.health().domains.find((entry) => entry.domain === domain) ?? {};
  if (assertions !== size) throw new Error(`the bundle is not in force: ${JSON.stringify(engine.health())}`);
}

process.on('message', (order: LoadingOrder) => {
  measure(order).then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.once('disconnect', () => process.exit());
