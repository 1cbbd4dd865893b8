import { createTestAuthority, type TestTokenInput } from '@signet/policy-engine/testing';
import { maxTokenLength, staticKeys, type TokenOutcome, verifyAccessToken } from '@signet/policy-engine/token';
import test from 'ava';

/* Every bound of a token: at it, and one past it. */

const authority = await createTestAuthority();
const keys = staticKeys(authority.keys);
const now = authority.clock.now();
const seconds = now / 1000;

async function outcomeOf(token: string, more: { now?: number; skewSeconds?: number } = {}): Promise<string> {
  const outcome: TokenOutcome = await verifyAccessToken(token, { keys, issuers: [authority.issuer], now, ...more });
  return outcome.kind === 'invalid' ? outcome.fault : outcome.kind;
}

const tokenOf = (more: Partial<TestTokenInput>) => authority.token({ domain: 'catalog', roles: ['reader'], ...more });

test('a token may have so many characters', async (t) => {
  // Four characters carry three bytes of the payload, so that every length but one in four can be had.
  const lengths = new Map<number, string>();
  const { length } = await tokenOf({ claims: { padding: '' } });
  const middle = Math.floor(((maxTokenLength - length) * 3) / 4);
  for (let size = middle - 4; size <= middle + 4; size += 1) {
    const token = await tokenOf({ claims: { padding: 'x'.repeat(size) } });
    lengths.set(token.length, token);
  }
  const longest = lengths.get(maxTokenLength) ?? lengths.get(maxTokenLength - 1) ?? '';
  const tooLong = lengths.get(maxTokenLength + 1) ?? lengths.get(maxTokenLength + 2) ?? '';
  t.true(longest.length >= maxTokenLength - 1 && tooLong.length > maxTokenLength);
  t.is(await outcomeOf(longest), 'valid');
  t.is(await outcomeOf(tooLong), 'too-large');
  // No signature is needed to see that the bound itself is the last length that is looked at.
  t.is(await outcomeOf('x'.repeat(maxTokenLength)), 'malformed');
  t.is(await outcomeOf('x'.repeat(maxTokenLength + 1)), 'too-large');
});

test('a token counts until the millisecond before its expiry', async (t) => {
  const token = await tokenOf({ expiresInSeconds: 60 });
  t.is(await outcomeOf(token, { now: now + 59_999 }), 'valid');
  t.is(await outcomeOf(token, { now: now + 60_000 }), 'expired');
});

for (const claim of ['nbf', 'iat']) {
  test(`${claim} may be as far ahead as the clocks may differ`, async (t) => {
    const at = async (ahead: number) => tokenOf({ claims: { [claim]: seconds + ahead } });
    t.is(await outcomeOf(await at(60)), 'valid');
    t.is(await outcomeOf(await at(61)), 'not-yet-valid');
    t.is(await outcomeOf(await at(61), { now: now + 999 }), 'not-yet-valid');
    t.is(await outcomeOf(await at(61), { now: now + 1000 }), 'valid');
    t.is(await outcomeOf(await at(0), { skewSeconds: 0 }), 'valid');
    t.is(await outcomeOf(await at(1), { skewSeconds: 0 }), 'not-yet-valid');
  });

  test(`${claim} is a time up to the year 9999`, async (t) => {
    const last = 253_402_300_799;
    t.is(await outcomeOf(await tokenOf({ claims: { [claim]: last } })), 'not-yet-valid');
    t.is(await outcomeOf(await tokenOf({ claims: { [claim]: last + 1 } })), 'claims');
    t.is(await outcomeOf(await tokenOf({ claims: { [claim]: 0 } })), 'valid');
    t.is(await outcomeOf(await tokenOf({ claims: { [claim]: -1 } })), 'claims');
  });
}

test('exp is a time up to the year 9999', async (t) => {
  const last = 253_402_300_799;
  t.is(await outcomeOf(await tokenOf({ claims: { exp: last } })), 'valid');
  t.is(await outcomeOf(await tokenOf({ claims: { exp: last + 1 } })), 'claims');
  t.is(await outcomeOf(await tokenOf({ claims: { exp: 0 } })), 'expired');
  t.is(await outcomeOf(await tokenOf({ claims: { exp: -1 } })), 'claims');
});

test('a token may carry 1,000 roles', async (t) => {
  const roles = Array.from({ length: 1001 }, (_, index) => `r${index}`);
  t.is(await outcomeOf(await tokenOf({ roles: [], claims: { scp: roles.slice(1), scope: undefined } })), 'valid');
  t.is(await outcomeOf(await tokenOf({ roles: [], claims: { scp: roles, scope: undefined } })), 'roles');
  t.is(await outcomeOf(await tokenOf({ claims: { scp: ['one'] } })), 'valid');
  t.is(await outcomeOf(await tokenOf({ claims: { scp: [] } })), 'roles');
});

test('a token has one audience and three parts', async (t) => {
  t.is(await outcomeOf(await tokenOf({ claims: { aud: ['catalog'] } })), 'valid');
  t.is(await outcomeOf(await tokenOf({ claims: { aud: ['catalog', 'media'] } })), 'audience');
  t.is(await outcomeOf(await tokenOf({ claims: { aud: [] } })), 'audience');
  const token = await tokenOf({});
  t.is(await outcomeOf(token), 'valid');
  t.is(await outcomeOf(`${token}.x`), 'malformed');
  t.is(await outcomeOf(token.split('.').slice(0, 2).join('.')), 'malformed');
});
