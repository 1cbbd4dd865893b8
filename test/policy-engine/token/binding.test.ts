import { X509Certificate } from 'node:crypto';
import { PolicyEngineError, type Status } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import { certificateThumbprint } from '@signet/policy-engine/token';
import test from 'ava';

const domains = {
  catalog: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] }],
};
const request = { action: 'read', resource: 'catalog:movie' };

test('a bound token counts with its certificate only, also when its verification is cached', async (t) => {
  const authority = await createTestAuthority();
  const engine = authority.engine(domains);
  const own = authority.certificate('media.player');
  const other = authority.certificate('media.player');
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: own });
  for (let round = 0; round < 3; round += 1) {
    t.is((await engine.decide({ ...request, token, certificate: own })).status, 'ALLOW');
    t.is((await engine.decide({ ...request, token, certificate: own.raw })).status, 'ALLOW');
    t.is((await engine.decide({ ...request, token, certificate: own.pem })).status, 'ALLOW');
    t.is((await engine.decide({ ...request, token, certificate: new X509Certificate(own.raw) })).status, 'ALLOW');
    for (const certificate of [other, undefined, null, own.thumbprint, '', new Uint8Array()]) {
      t.is((await engine.decide({ ...request, token, certificate })).status, 'DENY_CERT_HASH_MISMATCH');
    }
    // Node's value for a connection without a certificate, and malformed ones.
    for (const certificate of [{}, 7, { raw: 'x' }, { thumbprint: own.thumbprint, raw: undefined }]) {
      const decision = await Reflect.apply(engine.decide, engine, [{ ...request, token, certificate }]);
      t.is(decision.status, 'DENY_CERT_HASH_MISMATCH');
    }
  }
});

test('an unbound token is refused unless that is disabled', async (t) => {
  const authority = await createTestAuthority();
  const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
  const certificate = authority.certificate('media.player');
  const decide = async (requireBound: boolean, certified: boolean): Promise<Status> => {
    const engine = authority.engine(domains, { requireBound });
    return (await engine.decide({ ...request, token, ...(certified && { certificate }) })).status;
  };
  t.is(await decide(true, false), 'DENY_CERT_HASH_MISMATCH');
  t.is(await decide(true, true), 'DENY_CERT_HASH_MISMATCH');
  t.is(await decide(false, false), 'ALLOW');
  t.is(await decide(false, true), 'ALLOW');
});

test('an expired token stays expired when it was cached before', async (t) => {
  const authority = await createTestAuthority();
  const engine = authority.engine(domains, { requireBound: false });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], expiresInSeconds: 10 });
  t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
  authority.clock.advance(9999);
  t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
  authority.clock.advance(1);
  t.is((await engine.decide({ ...request, token })).status, 'DENY_TOKEN_EXPIRED');
  authority.clock.advance(31_536_000_000);
  t.is((await engine.decide({ ...request, token })).status, 'DENY_TOKEN_EXPIRED');
});

test('a thumbprint is that of the leaf of a chain', async (t) => {
  const authority = await createTestAuthority();
  const leaf = authority.certificate('media.player');
  t.is(certificateThumbprint(leaf.pem + authority.ca.pem), leaf.thumbprint);
  t.is(certificateThumbprint(new X509Certificate(leaf.pem)), leaf.thumbprint);
  t.throws(() => certificateThumbprint('no certificate'), { instanceOf: PolicyEngineError, code: 'invalid-options' });
});
