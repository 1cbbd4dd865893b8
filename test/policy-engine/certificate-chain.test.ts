import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { toDate } from '@signet/policy-engine/clock';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { internals } from '../limits/row.ts';

/* Which chains lead to an authority: by signature and by name, with each issuer a CA. */

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
