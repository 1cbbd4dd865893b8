import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { type DomainName, parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import { issueTimeOf, serialFrom } from '@signet/server/x509/build-certificate';
import {
  type CertificateAndKey,
  createAuthorities,
  issueIdentity,
  issueServerCertificate,
} from '@signet/server/x509/certificate-authority';
import test from 'ava';
import { FakeClock } from '#support/clock';

const clock = new FakeClock(1_767_225_600_000);
const dayMs = 86_400_000;
const { root, intermediate } = await createAuthorities(clock);
const read = ({ certificate }: CertificateAndKey) => new X509Certificate(certificate);
const service = (name: string) => ({
  domain: parseDomainName('media'),
  service: parseServiceName(name),
  trustDomain: 'signet.test',
});

function constraints({ parsed }: typeof root) {
  const { ca, pathLength } = parsed.getExtension(x509.BasicConstraintsExtension) ?? {};
  return { ca, pathLength };
}

function keyIds({ parsed }: typeof root) {
  return {
    own: parsed.getExtension(x509.SubjectKeyIdentifierExtension)?.keyId,
    issuer: parsed.getExtension(x509.AuthorityKeyIdentifierExtension)?.keyId,
  };
}

test('the root bounds no path, and the one below it signs leaves only', (t) => {
  t.deepEqual(constraints(root), { ca: true, pathLength: undefined });
  t.deepEqual(constraints(intermediate), { ca: true, pathLength: 0 });
  const [top, below] = [read(root), read(intermediate)];
  t.true(below.checkIssued(top) && below.verify(top.publicKey) && top.verify(top.publicKey));
  t.deepEqual([keyIds(root).issuer, keyIds(intermediate).issuer], [keyIds(root).own, keyIds(root).own]);
  t.not(keyIds(intermediate).own, keyIds(root).own);
});

test('a certificate begins an hour before and ends with its authority', async (t) => {
  const begin = clock.now() - 3_600_000;
  t.deepEqual(
    [read(root).validFromDate.getTime(), read(root).validToDate.getTime()],
    [begin, clock.now() + 3650 * dayMs],
  );
  const ends = async (days: number) => {
    const leaf = read(await issueIdentity(intermediate, service('player'), days, clock));
    return (leaf.validToDate.getTime() - clock.now()) / dayMs;
  };
  t.deepEqual([await ends(30), await ends(1825), await ends(1826), await ends(9999)], [30, 1825, 1825, 1825]);
});

test('an identity has one name, a server those that it is reached by', async (t) => {
  const identity = read(await issueIdentity(intermediate, service('player'), 30, clock));
  t.is(identity.subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/media.player');
  t.false(identity.ca);
  const hosts = ['signet.example.com', '127.0.0.1', '::1'];
  const server = read(await issueServerCertificate(intermediate, { ...service('server'), hosts }, 30, clock));
  t.is(
    server.subjectAltName,
    'URI:spiffe://signet.test/ns/default/sa/media.server, DNS:signet.example.com, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
  );
});

test('a name of 64 characters, and one of 65', async (t) => {
  const issue = (length: number) => {
    const domain = 'd'.repeat(length - 2) as DomainName;
    return issueIdentity(intermediate, { ...service('s'), domain }, 30, clock);
  };
  t.is(read(await issue(64)).subject, `CN=${'d'.repeat(62)}.s`);
  await t.throwsAsync(issue(65), {
    instanceOf: InvalidRequestError,
    message: `\`${'d'.repeat(63)}.s\` is longer than the 64 characters of a common name`,
  });
});

/* When a certificate was issued: told by the serial numbers that we give, for lives that begin up to an hour before. */
const at = 1_767_225_600;
const serialAt = (seconds: number) => serialFrom(seconds, Buffer.alloc(12, 1)).toString('hex');
const times: readonly (readonly [note: string, serial: string, notBefore: number, issuedAt: number])[] = [
  ['at the beginning of its life', serialAt(at), at, at],
  ['an hour after', serialAt(at + 3600), at, at + 3600],
  ['a second more', serialAt(at + 3601), at, at],
  ['before it', serialAt(at - 1), at, at],
  ['across the end of the count', serialAt(0x8000_0000 + 1), 0x8000_0000 - 10, 0x8000_0000 + 1],
  ['by a number of another length', serialAt(at + 60).slice(2), at, at],
  ['by a number of another beginning', serialAt(at + 60).replace(/^./, '3'), at, at],
  ['by a number that is longer', `${serialAt(at + 60)}00`, at, at],
];
for (const [note, serial, notBefore, issuedAt] of times) {
  test(`issued ${note}`, (t) => t.is(issueTimeOf({ serial, notBefore }), issuedAt));
}
