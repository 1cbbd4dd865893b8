import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { serialRandomOctets } from '@signet/server/x509/build-certificate';
import { createAuthorities, firstRevocationList } from '@signet/server/x509/certificate-authority';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import {
  authorityNames,
  authorityRequest,
  buildIntermediate,
  buildRoot,
  namesOfAuthority,
  newAuthorityKey,
} from '@signet/server/x509/new-authority';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

/* Authorities that follow those of `signet init`; openssl is the second opinion. */

const clock = new FakeClock();
const now = epochSeconds(clock);
const day = 86_400;
const names = { dns: ['corp.example', 'localhost'], uri: ['corp.example'], email: ['corp.example'], ip: [] };
const points = ['http://pki.corp.example/crl/{issuer}'];
const first = await createAuthorities(clock, { trustDomain: 'corp.example', names, distributionPoints: points });
const root = issuerFromPem(first.root.certificate, first.root.key);
const order = (days = 1825) => ({ now, days, random: randomBytes(serialRandomOctets) });

/** Output of openssl for a certificate, without its key, its number and its times. */
async function extensionsOf(folder: string, pem: string): Promise<string> {
  writeFileSync(join(folder, 'shown.pem'), pem);
  const { output } = await openssl(folder, 'x509', '-in', 'shown.pem', '-noout', '-text', '-certopt', 'ext_parse');
  return output.slice(output.indexOf('X509v3 extensions')).replace(/Signature Algorithm[\s\S]*/, '');
}

const withoutIds = (text: string) => text.replace(/(?:[0-9A-F]{2}:){19}[0-9A-F]{2}/g, 'ID').trim();
const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .sort();

test('an intermediate like the one before has its extensions, and a name and a key of its own', async (t) => {
  const folder = temporaryFolder(t);
  const { key, pem } = newAuthorityKey();
  const made = buildIntermediate(root, key, namesOfAuthority(first.intermediate.certificate), order());
  const before = await extensionsOf(folder, first.intermediate.certificate);
  t.deepEqual(lines(withoutIds(await extensionsOf(folder, made))), lines(withoutIds(before)));
  t.true((await extensionsOf(folder, made)).includes(`URI:${points[0]?.replace('{issuer}', root.id)}`));
  const read = new X509Certificate(made);
  t.is(read.subject, `CN=Signet Intermediate CA ${key.keyIdentifier.toString('hex').slice(0, 8)}\nO=Signet`);
  t.true(read.checkPrivateKey(createPrivateKey(pem)));
  t.is(read.validToDate.getTime() / 1000, now + 1825 * day);
  t.is(issuerFromPem(made, pem).id, key.keyIdentifier.toString('hex'));
  const again = namesOfAuthority(made);
  t.deepEqual(again, namesOfAuthority(first.intermediate.certificate), 'and the next one can be made like it');
  t.deepEqual(again.distributionPoints, points);
});

test('the names of signet init are those of an intermediate that is made by them', (t) => {
  const made = authorityNames(parseDomainName('corp.example'), names, points);
  t.deepEqual(made, namesOfAuthority(first.intermediate.certificate));
  const plain = buildIntermediate(root, newAuthorityKey().key, authorityNames('x.example', undefined, []), order());
  t.deepEqual(namesOfAuthority(plain), {
    altNames: namesOfAuthority(plain).altNames,
    nameConstraints: undefined,
    distributionPoints: [],
  });
  t.is(new X509Certificate(plain).subjectAltName, 'URI:spiffe://x.example');
});

test('roots of each kind sign an intermediate that openssl verifies, with its list', async (t) => {
  const folder = temporaryFolder(t);
  const usage = ['-addext', 'keyUsage=critical,keyCertSign,cRLSign'];
  const own = newAuthorityKey();
  const roots = [{ certificate: buildRoot(own, order(3650)), key: own.pem }];
  for (const options of [
    ['rsa:3072', '-sha256'],
    ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-sha384'],
  ]) {
    const made = ['req', '-x509', '-newkey', ...options, '-nodes', '-keyout', 'k.pem', '-out', 'c.pem', '-days', '30'];
    t.true((await openssl(folder, ...made, '-subj', '/CN=Elsewhere', ...usage)).ok);
    roots.push({ certificate: textOf(folder, 'c.pem'), key: textOf(folder, 'k.pem') });
  }
  for (const [index, pair] of roots.entries()) {
    const issuer = issuerFromPem(pair.certificate, pair.key);
    const at = { ...order(10), now: Math.max(now, issuer.notBefore) };
    const made = buildIntermediate(issuer, newAuthorityKey().key, namesOfAuthority(first.intermediate.certificate), at);
    const list = await firstRevocationList(pair, new FakeClock(at.now * 1000));
    for (const [name, pem] of Object.entries({ root: pair.certificate, made, list }))
      writeFileSync(join(folder, `${name}.pem`), pem);
    const check = ['verify', '-x509_strict', '-crl_check_all', '-attime', String(at.now + day), '-CRLfile', 'list.pem'];
    const { output } = await openssl(folder, ...check, '-CAfile', 'root.pem', 'made.pem');
    t.is(output, 'made.pem: OK\n', `root ${index}`);
  }
});

test('of a request nothing but its proven key is taken', async (t) => {
  const folder = temporaryFolder(t);
  const made = newAuthorityKey();
  const request = authorityRequest(made);
  writeFileSync(join(folder, 'own.csr'), request);
  const { output } = await openssl(folder, 'req', '-in', 'own.csr', '-noout', '-verify', '-subject');
  t.regex(output, /verify OK/);
  t.regex(output, /CN = Signet Intermediate CA [0-9a-f]{8}/);
  const { subjectKey } = parseCertificateRequest(request);
  t.true(subjectKey.spki.equals(made.key.spki));
  const certificate = buildIntermediate(root, subjectKey, namesOfAuthority(first.intermediate.certificate), order());
  t.is(issuerFromPem(certificate, made.pem).id, subjectKey.keyIdentifier.toString('hex'));
});

test('an intermediate ends with its root, and is not made by one that is not valid, nor for a key that cannot be one', (t) => {
  const { key } = newAuthorityKey();
  const plain = authorityNames('x.example', undefined, []);
  const ends = (pem: string) => new X509Certificate(pem).validToDate.getTime() / 1000;
  t.is(ends(buildIntermediate(root, key, plain, order(36_500))), root.notAfter);
  const refused =
    (at: number, other = key) =>
    () =>
      buildIntermediate(root, other, plain, { ...order(), now: at });
  t.throws(refused(root.notBefore - 1), { message: 'the root is not valid now' });
  t.notThrows(refused(root.notBefore));
  t.throws(refused(root.notAfter), { message: 'the root is not valid now' });
  const { publicKey } = generateKeyPairSync('ed25519');
  const edwards = parseSubjectKey(publicKey.export({ format: 'der', type: 'spki' }));
  t.throws(refused(now, edwards), { message: /must be P-256, P-384 or RSA/ });
});

test('what is no authority, or says its lists elsewhere, is no model for another one', async (t) => {
  const folder = temporaryFolder(t);
  const leaf = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'k.pem', '-out', 'c.pem', '-days', '2'];
  const subject = ['-subj', '/CN=x', '-addext'];
  t.true((await openssl(folder, ...leaf, ...subject, 'basicConstraints=critical,CA:FALSE')).ok);
  const pem = textOf(folder, 'c.pem');
  t.throws(() => namesOfAuthority(pem), { message: 'it is not a certificate of an authority' });
  t.true((await openssl(folder, ...leaf, ...subject, 'crlDistributionPoints=URI:http://x.example/fixed.crl')).ok);
  const fixed = textOf(folder, 'c.pem');
  t.throws(() => namesOfAuthority(fixed), { message: /does not hold the id of the authority above it: .*--crl-url/ });
});

function textOf(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}
