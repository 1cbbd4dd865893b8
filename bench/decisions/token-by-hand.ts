import { systemClock } from '@signet/policy-engine/clock';
import { prepareHandMap } from './engines/hand-map.ts';
import type { Certificate, TokenFixture } from './token-fixture.ts';
import { domain } from './workload.ts';

interface KnownToken {
  readonly domain: string;
  readonly roles: readonly string[];
  /** Milliseconds since the epoch. */
  readonly expires: number;
  readonly thumbprint: string;
}

/** Answers whether the holder of the token in a header may do the action on the resource. */
export type DecideByHand = (header: string, certificate: Certificate, action: string, resource: string) => boolean;

/**
 * Hand-written equivalent for tokens that were verified before, with the checks that the engine makes: the expiry of token and policy, the
 * certificate, the domain, capitals. Exact names only; it answers synchronously, where the engine answers with a promise.
 */
export async function prepareByHand({
  rules,
  tokens,
  roles,
  certificate,
  thumbprint,
}: TokenFixture): Promise<DecideByHand> {
  const decide = await prepareHandMap(rules);
  if (decide === undefined) throw new Error('the map cannot express the rules');
  const expires = systemClock.now() + 7_200_000;
  const thumbprints = new WeakMap<Certificate, string>([[certificate, thumbprint]]);
  const known = new Map<string, KnownToken>(
    tokens.map(({ text }) => [Buffer.from(text).toString('latin1'), { domain, roles, expires, thumbprint }]),
  );
  return (header, presented, action, resource) => {
    const token = known.get(/^bearer /i.test(header) ? header.slice('Bearer '.length) : header);
    const now = systemClock.now();
    if (token === undefined || now >= token.expires || now >= expires) return false;
    if (thumbprints.get(presented) !== token.thumbprint) return false;
    const name = /[A-Z]/.test(resource) ? resource.toLowerCase() : resource;
    if (name.indexOf(':') !== token.domain.length || !name.startsWith(token.domain)) return false;
    return decide(token.roles, /[A-Z]/.test(action) ? action.toLowerCase() : action, name);
  };
}
