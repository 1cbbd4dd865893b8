import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { isIPv4 } from 'node:net';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { plainAddress } from '../base/ip-address.ts';
import { ybase64 } from '../base/ybase64.ts';
import type { SigningKeys } from '../keys/signing-keys.ts';
import { serverSigner } from '../principals/principal-token.ts';

export interface ServiceTokenDeps {
  readonly keys: Pick<SigningKeys, 'key'>;
  readonly clock: Clock;
  readonly host: string;
  /** Maximum life of a token, in seconds: a key stays published at least that long after it signed. */
  readonly longestSeconds: number;
}

/** Service that the token is for, and the certificate that it comes with. */
export interface ServiceTokenFacts {
  readonly domain: string;
  readonly service: string;
  /** Address of the instance, as text. */
  readonly address: string;
  /** Lower-case hexadecimal. */
  readonly serial: string;
  /** Seconds since the epoch. */
  readonly notAfter: number;
}

const lifeSeconds = 86_400;

/**
 * A principal token that the server signs for an instance (docs/reference/athenz.md#service-tokens). Its salt is the serial number of the
 * certificate that comes with it, and it ends with that one. Throws `NoSigningKeyError`.
 */
export function issueServiceToken(deps: ServiceTokenDeps, facts: ServiceTokenFacts): string {
  const { kid, privateKey } = deps.keys.key('token');
  const now = epochSeconds(deps.clock);
  const ends = Math.min(now + Math.min(lifeSeconds, deps.longestSeconds), facts.notAfter);
  const address = plainAddress(facts.address);
  const fields = [
    'v=S1',
    `d=${facts.domain}`,
    `n=${facts.service}`,
    `k=${kid}`,
    `z=${serverSigner}`,
    `h=${deps.host}`,
    `a=${facts.serial}`,
    `t=${now}`,
    `e=${ends}`,
    // Readers part addresses at their colons.
    ...(isIPv4(address) ? [`i=${address}`] : []),
  ];
  const text = fields.join(';');
  return `${text};s=${ybase64(sign('sha256', Buffer.from(text, 'latin1'), privateKey))}`;
}

/** The published key of an id that signs tokens. */
export function tokenKey(keys: Pick<SigningKeys, 'current'>, kid: string): KeyObject | undefined {
  const key = keys.current().published.find((each) => each.kid === kid && each.purpose === 'token');
  return key && createPublicKey({ key: { ...key }, format: 'jwk' });
}
