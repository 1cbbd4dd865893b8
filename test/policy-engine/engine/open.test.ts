import { PolicyEngine, type Status } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/* Where an engine over a directory takes its issuers from, and what it says of revisions and changed bytes. */

const authority = await createTestAuthority();
const policies = [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'movie' }] }];
const asked = { action: 'read', resource: 'catalog:movie' };

async function statusAt(engine: PolicyEngine, iss: string): Promise<Status> {
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], claims: { iss } });
  return (await engine.decide({ token, ...asked })).status;
}

test('issuers of the options take the place of the one of the directory', async (t) => {
  const policyDir = temporaryFolder(t);
  await authority.writeBundle(policyDir, { domain: 'catalog', policies });
  const open = (more: object) =>
    PolicyEngine.open({ policyDir, clock: authority.clock, watch: false, requireBound: false, ...more });
  await using own = await open({});
  t.is(await statusAt(own, authority.issuer), 'ALLOW');
  t.is(await statusAt(own, 'https://other.test'), 'DENY_TOKEN_INVALID');
  await using told = await open({ issuers: ['https://other.test'] });
  t.is(await statusAt(told, authority.issuer), 'DENY_TOKEN_INVALID');
  t.is(await statusAt(told, 'https://other.test'), 'ALLOW');
  await t.throwsAsync(open({ issuers: [] }), { message: /^no issuer is trusted/ });
});

test('every decision of a bundle names its revision', async (t) => {
  const policyDir = temporaryFolder(t);
  await authority.writeBundle(policyDir, { domain: 'catalog', policies });
  const { clock } = authority;
  const written: unknown[] = [];
  const records = {
    write: (batch: readonly { revision?: unknown }[]) => void written.push(...batch.map((one) => one.revision)),
  };
  const engine = await PolicyEngine.open({ policyDir, clock, watch: false, records });
  const decide = (action: string) => engine.decideRoles({ domain: 'catalog', roles: ['reader'], ...asked, action });
  const allowed = decide('read');
  const refused = decide('write');
  await engine.close();
  t.like(allowed, { status: 'ALLOW' });
  t.like(refused, { status: 'DENY_NO_MATCH' });
  t.not(allowed.revision, undefined);
  t.deepEqual(refused.revision, allowed.revision);
  t.deepEqual(written, [allowed.revision, allowed.revision]);
});

test('bytes that hold another certificate than before are another certificate', async (t) => {
  const engine = authority.engine({ catalog: policies });
  const own = authority.certificate('media.player');
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: own });
  const certificate = new Uint8Array(own.raw);
  t.is((await engine.decide({ ...asked, token, certificate })).status, 'ALLOW');
  certificate.reverse();
  t.is((await engine.decide({ ...asked, token, certificate })).status, 'DENY_CERT_HASH_MISMATCH');
});
