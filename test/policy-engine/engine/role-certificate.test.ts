import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { type AuthoritiesInput, type CertificateInput, PolicyEngine, type Status } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';
import { type CertificateWish, type MadeCertificate, makeCertificate } from '#support/certificate-maker';

/* A role certificate counts by the signatures that lead from it to an authority, never by names. */

const now = 1_767_225_600_000;
const clock = new TestClock(now);
const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
const engine = PolicyEngine.fromDomains({ catalog: [{ name: 'p', assertions }] }, { clock });

function decide(certificate: CertificateInput, authorities: AuthoritiesInput, at = engine): Status {
  return at.decideRoleCertificate({ certificate, authorities, action: 'read', resource: 'catalog:movie' }).status;
}

const authority = (name: string, more: Partial<CertificateWish> = {}) =>
  makeCertificate({ name, isAuthority: true, ...more });
const leafOf = (issuer: MadeCertificate, more: Partial<CertificateWish> = {}) =>
  makeCertificate({ name: 'catalog:role.reader', issuer, ...more });

const root = await authority('Root');
const between = await authority('Between', { issuer: root });
const leaf = await leafOf(between);
const chain = leaf.pem + between.pem;

test('what one of the authorities issued counts, itself or over what its holder sent', async (t) => {
  const direct = await leafOf(root);
  t.is(decide(direct.certificate, root.pem), 'ALLOW');
  t.is(decide(direct.certificate.raw, [root.certificate.raw]), 'ALLOW');
  t.is(decide(direct.pem, [between.certificate, root.certificate]), 'ALLOW');
  t.is(decide(chain, root.pem), 'ALLOW');
  t.is(decide(leaf.pem, between.pem + root.pem), 'ALLOW');
  t.is(decide(leaf.pem, between.pem), 'ALLOW');
  const legacy = { raw: leaf.certificate.raw, issuerCertificate: { raw: between.certificate.raw } };
  Object.assign(legacy.issuerCertificate, { issuerCertificate: legacy.issuerCertificate });
  t.is(decide(legacy, root.pem), 'ALLOW');
  t.is(decide(leaf.pem, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
});

test('an authority of the same name is another authority', async (t) => {
  const selfMade = await authority('Root');
  t.is(decide((await leafOf(selfMade)).certificate, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  const fakeBetween = await authority('Between', { issuer: selfMade });
  t.is(decide((await leafOf(fakeBetween)).pem + fakeBetween.pem, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  t.is(decide((await leafOf(fakeBetween)).pem + between.pem, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  const self = await makeCertificate({ name: 'catalog:role.reader' });
  t.is(decide(self.certificate, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
});

test('who is not a CA issues nothing, sent or trusted', async (t) => {
  const notCa = await makeCertificate({ name: 'media.player', issuer: root });
  const issued = await leafOf(notCa);
  t.is(decide(issued.pem + notCa.pem, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  t.is(decide(issued.pem, notCa.pem), 'DENY_CERT_MISMATCH_ISSUER');
});

test('an authority with name constraints, which are not evaluated, leads nowhere', async (t) => {
  const value = new Uint8Array([0x30, 0x00]);
  const constrained = await authority('Constrained', {
    issuer: root,
    extensions: [new x509.Extension('2.5.29.30', false, value)],
  });
  const issued = await leafOf(constrained);
  t.is(decide(issued.pem + constrained.pem, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  t.is(decide(issued.pem, constrained.pem), 'DENY_CERT_MISMATCH_ISSUER');
});

test('the certificate of a server is not one of a client', async (t) => {
  const usages = ['1.3.6.1.5.5.7.3.1'];
  t.is(decide((await leafOf(root, { usages })).certificate, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  const both = [...usages, '1.3.6.1.5.5.7.3.2'];
  t.is(decide((await leafOf(root, { usages: both })).certificate, root.pem), 'ALLOW');
});

test('each certificate counts from the first to the last moment of its dates', async (t) => {
  const dates = { notBefore: now - 5000, notAfter: now + 5000 };
  const moments: [at: number, isWithin: boolean][] = [
    [dates.notBefore - 1, false],
    [dates.notBefore, true],
    [dates.notAfter, true],
    [dates.notAfter + 1, false],
  ];
  const shortRoot = await authority('Short', dates);
  const shortBetween = await authority('Short', { issuer: root, ...dates });
  const ends: [note: string, certificate: string, authorities: string, refusal: Status][] = [
    ['leaf', (await leafOf(root, dates)).pem, root.pem, 'DENY_TOKEN_EXPIRED'],
    ['intermediate', (await leafOf(shortBetween)).pem + shortBetween.pem, root.pem, 'DENY_CERT_MISMATCH_ISSUER'],
    ['authority', (await leafOf(shortRoot)).pem, shortRoot.pem, 'DENY_CERT_MISMATCH_ISSUER'],
  ];
  for (const [note, certificate, authorities, refusal] of ends) {
    for (const [at, isWithin] of moments) {
      const then = PolicyEngine.fromDomains(
        { catalog: [{ name: 'p', assertions }] },
        {
          clock: new TestClock(at),
        },
      );
      t.is(decide(certificate, authorities, then), isWithin ? 'ALLOW' : refusal, `${note} at ${at - now}`);
    }
  }
});

test('eight certificates may come beside the leaf, not nine', async (t) => {
  let issuer = root;
  const sent: MadeCertificate[] = [];
  for (let place = 0; place < 9; place += 1) {
    issuer = await authority(`Level ${place}`, { issuer });
    sent.unshift(issuer);
  }
  const ninth = (await leafOf(issuer)).pem + sent.map(({ pem }) => pem).join('');
  t.is(decide(ninth, root.pem), 'DENY_CERT_MISMATCH_ISSUER');
  const eighth =
    (await leafOf(sent[1] ?? root)).pem +
    sent
      .slice(1)
      .map(({ pem }) => pem)
      .join('');
  t.is(decide(eighth, root.pem), 'ALLOW');
});

test('without authorities nothing is decided', (t) => {
  for (const authorities of [undefined, null, [], '', 'CN=Root', ['CN=Root'], [root.pem, 'CN=Root'], [undefined], 7]) {
    const asked = { certificate: chain, authorities, action: 'read', resource: 'catalog:movie' };
    t.is(Reflect.apply(engine.decideRoleCertificate, engine, [asked]).status, 'DENY_INVALID_PARAMETERS');
  }
  const names = { certificate: chain, issuers: ['CN=Between'], action: 'read', resource: 'catalog:movie' };
  t.is(Reflect.apply(engine.decideRoleCertificate, engine, [names]).status, 'DENY_INVALID_PARAMETERS');
});

test('a role certificate of the test authority counts until its end', async (t) => {
  const own = await createTestAuthority();
  const at = own.engine({ catalog: [{ name: 'p', assertions }] });
  const certificate = new X509Certificate(own.certificate('catalog:role.reader', 1000).raw);
  const authorities = own.ca.pem;
  t.is(decide(certificate, authorities, at), 'ALLOW');
  own.clock.advance(2000);
  t.is(decide(certificate, authorities, at), 'DENY_TOKEN_EXPIRED');
});

const names: [commonName: string, status: Status][] = [
  ['catalog:role.reader', 'ALLOW'],
  ['catalog:role.writer', 'DENY_NO_MATCH'],
  ['other:role.reader', 'DENY_DOMAIN_MISMATCH'],
  ['catalog.reader', 'DENY_CERT_MISSING_ROLE_NAME'],
  ['catalog:reader', 'DENY_CERT_MISSING_ROLE_NAME'],
  ['catalog:role.', 'DENY_CERT_MISSING_ROLE_NAME'],
  [':role.', 'DENY_CERT_MISSING_ROLE_NAME'],
  [':role.reader', 'DENY_CERT_MISSING_DOMAIN'],
  ['catalog:role.reader:role.admin', 'DENY_CERT_MISSING_ROLE_NAME'],
  ['catalog:role.reader:role.', 'DENY_CERT_MISSING_ROLE_NAME'],
];
for (const [name, status] of names) {
  test(`a certificate with the common name ${name}`, async (t) => {
    t.is(decide((await leafOf(root, { name })).certificate, root.pem), status);
  });
}
