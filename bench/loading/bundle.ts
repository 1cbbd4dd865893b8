import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { buildBundle, signBundle } from '@signet/policy-engine/bundle';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import type { Jwk, JwkList } from '@signet/policy-engine/wire';
import { createWorkload, domain, kinds, type Rule } from '../decisions/workload.ts';

const bytesPerAssertion = 110;

/** Number of assertions that make a payload of that size. */
export function assertionsFor(megabytes: number): number {
  return Math.round((megabytes * 1_000_000) / bytesPerAssertion);
}

/** Rules as a domain has them: ten for each role, and a tenth of them with each kind of wildcard. */
export function rulesFor(size: number): readonly Rule[] {
  const byKind = kinds
    .filter((kind) => kind !== 'mixed')
    .map((kind) => createWorkload({ size, layout: 'many roles', kind }).rules);
  const [exact = []] = byKind;
  return exact.map((plain, index) => {
    const rule = byKind[Math.floor(index / 10) % 10]?.[index] ?? plain;
    return { ...rule, role: `${domain}:role.${rule.role}` };
  });
}

/** A key that signs bundles, and the list that verifies them. */
export interface SigningPair {
  readonly privateKey: KeyObject;
  readonly keys: JwkList;
}

export function newSigningPair(): SigningPair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const jwk: Jwk = { kty: 'EC', crv: 'P-256', x, y, kid: 'benchmark', alg: 'ES256', use: 'sig', purpose: 'bundle' };
  return { privateKey, keys: { keys: [jwk] } };
}

/** A signed bundle and what it carries. */
export async function bundleText(
  size: number,
  version: number,
  { privateKey }: SigningPair,
): Promise<{ text: string; payload: string }> {
  const now = systemClock.now();
  const data = buildBundle({
    domain: parseDomainName(domain),
    epoch: 1,
    version,
    modified: now,
    issued: now,
    expires: now + 86_400_000,
    policies: [
      {
        name: `${domain}:policy.benchmark`,
        modified: '2026-01-01T00:00:00.000Z',
        assertions: rulesFor(size).map((rule, id) => ({ ...rule, id })),
      },
    ],
  });
  return {
    text: JSON.stringify(await signBundle(data, { kid: 'benchmark', privateKey })),
    payload: JSON.stringify(data),
  };
}
