import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { toDate } from '@signet/policy-engine/clock';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { internals } from '../limits/row.ts';

/* Chains to an authority: by signature and by name, with each issuer a CA. */

const now = 1_767_225_600_000;
const { issuedUntil } = await internals<{
  issuedUntil(
    chain: { leaf: X509Certificate; intermediates: readonly X509Certificate[] },
    authorities: readonly X509Certificate[],
    now: number,
  ): number | undefined;
}>('policy-engine/src/certificates/certificate-chain.ts');

const root = await makeCertificate({ name: 'root', isAuthority: true });
const leaf = await makeCertificate({ name: 'media.player', issuer: root });

test('the issuer has the name that the certificate names, not only the key', async (t) => {
  const renamed = await x509.X509CertificateGenerator.create({
    serialNumber: '4001',
    subject: 'CN=other',
    issuer: 'CN=other',
    notBefore: toDate(now - 1000),
    notAfter: toDate(now + 1000),
    publicKey: root.keys.publicKey,
    signingKey: root.keys.privateKey,
    signingAlgorithm: { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
    extensions: [new x509.BasicConstraintsExtension(true, undefined, true)],
  });
  const ofItsKey = new X509Certificate(Buffer.from(renamed.rawData));
  t.true(leaf.certificate.verify(ofItsKey.publicKey));
  t.is(issuedUntil({ leaf: leaf.certificate, intermediates: [] }, [ofItsKey], now), undefined);
  t.not(issuedUntil({ leaf: leaf.certificate, intermediates: [] }, [root.certificate], now), undefined);
});

test('the issuer has the key that signed, not only the name', async (t) => {
  const double = await makeCertificate({ name: 'root', isAuthority: true });
  t.is(issuedUntil({ leaf: leaf.certificate, intermediates: [] }, [double.certificate], now), undefined);
});

test('an issuer that is not an authority is none, as an anchor and in between', async (t) => {
  const plain = await makeCertificate({ name: 'plain', issuer: root });
  const below = await makeCertificate({ name: 'below', issuer: plain });
  t.is(issuedUntil({ leaf: below.certificate, intermediates: [] }, [plain.certificate], now), undefined);
  const chain = { leaf: below.certificate, intermediates: [plain.certificate] };
  t.is(issuedUntil(chain, [root.certificate], now), undefined);
  const issuer = await makeCertificate({ name: 'issuer', issuer: root, isAuthority: true });
  const good = await makeCertificate({ name: 'good', issuer });
  t.not(
    issuedUntil({ leaf: good.certificate, intermediates: [issuer.certificate] }, [root.certificate], now),
    undefined,
  );
});

const authority = (name: string, more: object = {}) => makeCertificate({ name, isAuthority: true, ...more });
const unknownCritical = { extensions: [new x509.Extension('1.2.3.4', true, new Uint8Array([5, 0]))] };
const constrained = (critical: boolean) => ({
  extensions: [new x509.Extension('2.5.29.30', critical, new Uint8Array([0x30, 0]))],
});

/** True if a path of root, two intermediates and leaf is accepted, each made with the given options. */
async function isPath({ top = {}, upper = {}, lower = {}, end = {} }: Record<string, object>): Promise<boolean> {
  const anchor = await authority('top', top);
  const first = await authority('upper', { issuer: anchor, ...upper });
  const second = await authority('lower', { issuer: first, ...lower });
  const { certificate } = await makeCertificate({ name: 'media.player', issuer: second, ...end });
  const chain = { leaf: certificate, intermediates: [second.certificate, first.certificate] };
  return issuedUntil(chain, [anchor.certificate], now) !== undefined;
}

const usage = (flags: number) => ({ extensions: [new x509.KeyUsagesExtension(flags, true)] });
const { digitalSignature, keyCertSign, keyEncipherment } = x509.KeyUsageFlags;

for (const [name, wishes, accepted] of [
  ['nothing special', {}, true],
  ['path lengths that suffice', { top: { pathLength: 2 }, upper: { pathLength: 1 }, lower: { pathLength: 0 } }, true],
  ['an anchor of path length 1', { top: { pathLength: 1 } }, false],
  ['an intermediate of path length 0 over another', { upper: { pathLength: 0 } }, false],
  ['an unknown critical extension of the anchor', { top: unknownCritical }, false],
  ['an unknown critical extension of an intermediate', { upper: unknownCritical }, false],
  ['an unknown critical extension of the leaf', { end: unknownCritical }, false],
  ['name constraints of the anchor', { top: constrained(true) }, false],
  ['name constraints of an intermediate, not critical', { lower: constrained(false) }, false],
  ['name constraints of the leaf', { end: constrained(false) }, false],
  ['a leaf that is an authority', { end: { isAuthority: true } }, false],
  ['a leaf that may sign certificates', { end: usage(digitalSignature | keyCertSign) }, false],
  ['a leaf that may sign handshakes', { end: usage(digitalSignature) }, true],
  ['a leaf that may not sign handshakes', { end: usage(keyEncipherment) }, false],
  ['an intermediate that may not sign certificates', { lower: usage(digitalSignature) }, false],
  ['an intermediate that may sign certificates', { lower: usage(keyCertSign) }, true],
  ['RSA keys of 2048 bits', { top: { rsaBits: 2048 }, end: { rsaBits: 2048 } }, true],
  ['an RSA key of 1024 bits in the anchor', { top: { rsaBits: 1024 } }, false],
  ['an RSA key of 1024 bits in an intermediate', { lower: { rsaBits: 1024 } }, false],
  ['an RSA key of 1024 bits in the leaf', { end: { rsaBits: 1024 } }, false],
] as const) {
  test(`a path with ${name} is ${accepted ? 'accepted' : 'refused'}`, async (t) => {
    t.is(await isPath(wishes), accepted);
  });
}
