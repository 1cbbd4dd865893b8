import { createPublicKey, verify } from 'node:crypto';
import { formatTimestamp } from '@signet/policy-engine/clock';
import type { WireAssertion, WirePolicy } from '@signet/policy-engine/wire';
import { type DomainSignedPolicyData, signOldBundle } from '@signet/server/bundles/signed-policy-data';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import test from 'ava';
import { caller, startServer } from '#support/start-server';

const { record, privateKey } = newSigningKey('bundle', 0, 0);
const key = { kid: record.kid, privateKey };
const rule: WireAssertion = {
  id: 7,
  role: 'catalog:role.reader',
  action: 'read',
  resource: 'catalog:movie',
  effect: 'ALLOW',
};
const policy = (...assertions: readonly WireAssertion[]): WirePolicy => ({
  name: 'catalog:policy.readers',
  modified: formatTimestamp(0),
  version: '0',
  active: true,
  assertions: [...assertions],
});
const input = { domain: 'catalog', modified: 1000, expires: 2000 };

/** Canonical form of readers: members in alphabetical order at every level, no white space. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${members.map(([name, member]) => `"${name}":${canonical(member)}`).join(',')}}`;
}

function isSigned(text: string, signature: string, publicKey = createPublicKey(privateKey)): boolean {
  const base64 = signature.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '=');
  return verify('sha256', Buffer.from(text), publicKey, Buffer.from(base64, 'base64'));
}

test('both signatures fit the canonical text, and it has only what readers agree on', (t) => {
  const bundle = signOldBundle(
    { ...input, policies: [policy(rule), { ...policy(), name: 'catalog:policy.empty' }] },
    key,
  );
  const { signedPolicyData } = bundle;
  t.true(isSigned(canonical(signedPolicyData), bundle.signature));
  t.true(isSigned(canonical(signedPolicyData.policyData), signedPolicyData.zmsSignature));
  t.deepEqual([bundle.keyId, signedPolicyData.zmsKeyId], [key.kid, key.kid]);
  t.deepEqual(signedPolicyData.policyData, {
    domain: 'catalog',
    policies: [
      {
        assertions: [{ action: 'read', effect: 'ALLOW', resource: 'catalog:movie', role: 'catalog:role.reader' }],
        modified: '1970-01-01T00:00:00.000Z',
        name: 'catalog:policy.readers',
      },
    ],
  });
});

for (const character of ['&', '<', '>', '"', '\\', '\n', '\u007f', '\u2028']) {
  test(`a rule with ${JSON.stringify(character)} is refused`, (t) => {
    const odd = policy(rule, { ...rule, resource: `catalog:a${character}b` });
    t.throws(() => signOldBundle({ ...input, policies: [odd] }, key), { name: 'ConflictError' });
  });
}

test('rules that would mean something else are refused, and so is a domain without rules', (t) => {
  const conditions = { conditionsList: [] };
  for (const odd of [
    { ...rule, conditions },
    { ...rule, caseSensitive: true },
  ]) {
    t.throws(() => signOldBundle({ ...input, policies: [policy(odd)] }, key), { name: 'ConflictError' });
  }
  const keepsCase = { ...policy(rule), caseSensitive: true };
  t.throws(() => signOldBundle({ ...input, policies: [keepsCase] }, key), { name: 'ConflictError' });
  t.throws(() => signOldBundle({ ...input, policies: [policy()] }, key), { name: 'NotFoundError' });
});

test('it is served in the profile athenz only, with the exact tag', async (t) => {
  const domains = [
    {
      name: 'catalog',
      roles: { reader: ['media.player'] },
      policies: { readers: [['ALLOW', 'reader', 'read', 'movie'] as const] },
    },
    { name: 'media', services: { player: {} } },
  ];
  const path = '/domain/catalog/signed_policy_data';
  const server = await startServer(t, { domains, options: { profile: 'athenz' } });
  const player = await server.pki.identity('media.player');
  const call = caller(t, server, player);
  const answer = await call(path, { headers: { 'if-none-match': '' } });
  t.is(answer.status, 200);
  const { signedPolicyData, signature } = answer.body as DomainSignedPolicyData;
  t.is(answer.headers['etag'], `"${signedPolicyData.modified}"`);
  const { keys } = (await call('/oauth2/keys?rfc=true')).body as { keys: { kid: string }[] };
  const jwk = keys.find(({ kid }) => kid === signedPolicyData.zmsKeyId);
  t.true(isSigned(canonical(signedPolicyData), signature, createPublicKey({ key: { ...jwk }, format: 'jwk' })));
  const again = await call(path, { headers: { 'if-none-match': String(answer.headers['etag']) } });
  t.deepEqual([again.status, again.text, again.headers['etag']], [304, '', answer.headers['etag']]);
  t.is((await call('/domain/nowhere/signed_policy_data')).status, 404);
  const plain = await startServer(t, { domains, pki: server.pki });
  t.is((await caller(t, plain, player)(path)).status, 404);
});
