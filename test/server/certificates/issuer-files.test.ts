import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { certificatesInPem } from '@signet/server/x509/certificate-reader';
import { IssuerError, issuerFromPem } from '@signet/server/x509/issuer-files';
import test from 'ava';
import { type CertificateWish, makeCertificate } from '#support/certificate-maker';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

/* Certificates and keys that can sign for the server. */

const authority = (name: string, more: Partial<CertificateWish> = {}) =>
  makeCertificate({ name, isAuthority: true, ...more });
const root = await authority('Root');
const upper = await authority('Upper', { issuer: root });
const lower = await authority('Lower', { issuer: upper });
const leaf = await makeCertificate({ name: 'media.player', issuer: root });
/** Of the same name, with another key. */
const namesake = await authority('Upper', { issuer: root });
/** Signed by `upper`, as it says by another. */
const byAnotherName = await authority('Lower', { issuer: { ...upper, certificate: root.certificate } });

const ec = (curve: string) => ['-newkey', 'ec', '-pkeyopt', `ec_paramgen_curve:${curve}`];
const keys: [kind: string, newKey: readonly string[], signing: string | undefined][] = [
  ['P-256', ec('P-256'), 'P-256'],
  ['P-384', ec('P-384'), 'P-384'],
  ['P-521', ec('P-521'), undefined],
  ['secp256k1', ec('secp256k1'), undefined],
  ['RSA of 2048 bits', ['-newkey', 'rsa:2048'], 'rsa'],
  ['RSA of 2047 bits', ['-newkey', 'rsa:2047'], undefined],
  ['RSA-PSS of 2048 bits', ['-newkey', 'rsa-pss', '-pkeyopt', 'rsa_keygen_bits:2048'], undefined],
  ['Ed25519', ['-newkey', 'ed25519'], undefined],
];
for (const [kind, newKey, signing] of keys) {
  test(`a key of ${kind} ${signing === undefined ? 'is refused' : 'signs'}`, async (t) => {
    const folder = temporaryFolder(t);
    const files = ['-keyout', 'key.pem', '-out', 'cert.pem'];
    const made = await openssl(folder, 'req', '-x509', '-nodes', ...newKey, ...files, '-subj', '/CN=Root');
    t.true(made.ok, made.output);
    const [certificate = '', key = ''] = ['cert.pem', 'key.pem'].map((name) =>
      readFileSync(join(folder, name), 'utf8'),
    );
    const open = () => issuerFromPem(certificate, key);
    if (signing !== undefined) return t.is<string, string>(open().kind, signing);
    const message = 'its key must be P-256, P-384 or RSA of at least 2048 bits';
    return t.throws(open, { instanceOf: IssuerError, message });
  });
}

const order = 'its chain is not in order: each certificate must be issued by the next one';
const notAuthority = 'its chain holds a certificate that is not an authority';
const chains: [note: string, chain: readonly (typeof root)[], outcome: number | string][] = [
  ['a root alone', [root], 1],
  ['an intermediate alone', [upper], 1],
  ['an intermediate and its root, which is not sent', [upper, root], 1],
  ['two intermediates', [lower, upper], 2],
  ['two intermediates and their root', [lower, upper, root], 2],
  ['no authority', [leaf], notAuthority],
  ['an authority after what is none', [leaf, root], notAuthority],
  ['what is no authority in the middle', [upper, leaf], order],
  ['a root that issued the one after the next', [lower, root], order],
  ['the wrong way round', [root, upper], order],
  ['an authority of the same name with another key', [lower, namesake], order],
  ['an authority of the same key with another name', [byAnotherName, upper], order],
];
for (const [note, chain, outcome] of chains) {
  test(`the chain of an issuer: ${note}`, (t) => {
    const open = () => issuerFromPem(chain.map(({ pem }) => pem).join(''), chain[0]?.key ?? '');
    if (typeof outcome === 'string') return t.throws(open, { instanceOf: IssuerError, message: outcome });
    const sent = certificatesInPem(open().chainPem);
    return t.deepEqual(
      sent.map((der) => der.toString('base64')),
      chain.slice(0, outcome).map(({ certificate }) => certificate.raw.toString('base64')),
    );
  });
}

test('a key that is not the one of the certificate, or none at all', (t) => {
  const open = (key: string) => () => issuerFromPem(upper.pem, key);
  const message = 'its private key is not the one of its certificate';
  t.throws(open(namesake.key), { instanceOf: IssuerError, message });
  t.throws(open('no key'), { instanceOf: IssuerError, message: 'its private key cannot be read' });
});
