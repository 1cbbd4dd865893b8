import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import type { IssuedAltName } from '@signet/server/x509/certificate-profile';
import { relativeName } from '@signet/server/x509/distinguished-name';
import { signOrder } from '@signet/server/x509/issue-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import {
  constraintFault,
  type NameConstraints,
  nameConstraintsIn,
  networkConstraint,
} from '@signet/server/x509/name-constraints';
import { oids } from '@signet/server/x509/oids';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import test from 'ava';
import { openssl } from '#support/openssl';
import { ecPair } from '#support/requests';
import { temporaryFolder } from '#support/temp';

/* An authority certifies no name that its own constraints exclude; openssl is asked about the same names. */

const names = {
  dns: ['corp.example', 'localhost'],
  uri: ['corp.example'],
  email: ['corp.example'],
  ip: [networkConstraint('0a000000', 8), networkConstraint('7f000001')],
};
const { root, intermediate } = await createAuthorities(systemClock, { names, trustDomain: 'corp.example' });
const issuer = issuerFromPem(intermediate.certificate, intermediate.key);

function sign(commonName: string, altNames: readonly IssuedAltName[], by = issuer) {
  const subjectKey = parseSubjectKey(ecPair().publicKey.export({ type: 'spki', format: 'der' }));
  const deps = {
    issuers: { signing: () => by },
    certificates: { intend: async () => undefined },
    clock: systemClock,
    randomBytes,
  };
  return signOrder(deps, {
    kind: 'service',
    names: { commonName, subject: [relativeName(oids.commonName, commonName)], altNames },
    subjectKey,
    usage: 'both',
    defaultSeconds: 3600,
    maxSeconds: [],
    holder: parsePrincipalName('media.player'),
  });
}

const host: IssuedAltName = { kind: 'dns', value: 'a.corp.example' };
const cases: readonly (readonly [isIn: boolean, commonName: string, ...names: readonly IssuedAltName[]])[] = [
  [true, 'media.player', host],
  [true, 'media.player', { kind: 'dns', value: 'corp.example' }],
  [true, 'media.player', { kind: 'dns', value: 'A.Corp.Example' }],
  [true, 'media.player', { kind: 'dns', value: '*.corp.example' }],
  [false, 'media.player', host, { kind: 'dns', value: 'acorp.example' }],
  [false, 'media.player', { kind: 'dns', value: 'example' }],
  [true, 'media.player', host, { kind: 'uri', value: 'spiffe://corp.example/ns/default/sa/media.player' }],
  [false, 'media.player', host, { kind: 'uri', value: 'spiffe://sub.corp.example/a' }],
  [false, 'media.player', host, { kind: 'uri', value: 'spiffe://elsewhere.example/a' }],
  [true, 'media.player', host, { kind: 'email', value: 'media.player@corp.example' }],
  [false, 'media.player', host, { kind: 'email', value: 'media.player@sub.corp.example' }],
  [true, 'media.player', host, { kind: 'ip', value: '0a010203' }],
  [false, 'media.player', host, { kind: 'ip', value: '0b010203' }],
  [true, 'media.player', host, { kind: 'ip', value: '7f000001' }],
  [false, 'media.player', host, { kind: 'ip', value: '7f000002' }],
  [false, 'media.player', host, { kind: 'ip', value: '00000000000000000000000000000001' }],
  // OpenSSL takes the common name for a DNS name where there is none.
  [false, 'media.player'],
  [false, 'media.player', { kind: 'uri', value: 'spiffe://corp.example/a' }],
  [true, 'catalog:role.reader', { kind: 'uri', value: 'spiffe://corp.example/a' }],
];
for (const [isIn, commonName, ...altNames] of cases) {
  const title = [commonName, ...altNames.map(({ kind, value }) => `${kind}:${value}`)].join(' ');
  test(`${isIn ? 'certified' : 'refused'}: ${title}`, async (t) => {
    const asked = sign(commonName, altNames);
    if (!isIn)
      await t.throwsAsync(asked, { instanceOf: InvalidRequestError, message: /name constraints|constraints on/ });
    else t.true((await asked).pem.startsWith('-----BEGIN'));

    const folder = temporaryFolder(t);
    const free = await sign(commonName, altNames, { ...issuer, nameConstraints: [] });
    const files = { 'root.pem': root.certificate, 'ca.pem': intermediate.certificate, 'leaf.pem': free.pem };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const { ok, output } = await openssl(folder, 'verify', '-CAfile', 'root.pem', '-untrusted', 'ca.pem', 'leaf.pem');
    t.is(ok, isIn, output);
  });
}

test('constraints of another authority are read as they are, those above it included', async (t) => {
  const folder = temporaryFolder(t);
  const config = `[req]
distinguished_name = d
x509_extensions = v
prompt = no
[d]
CN = Elsewhere
[v]
basicConstraints = critical, CA:true
nameConstraints = critical, permitted;DNS:.corp.example, excluded;DNS:bad.corp.example, excluded;IP:10.1.0.0/255.255.0.0, permitted;dirName:d
`;
  writeFileSync(join(folder, 'config'), config);
  const made = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-config', 'config'];
  const said = await openssl(folder, ...made, '-keyout', 'key.pem', '-out', 'cert.pem');
  t.true(said.ok, said.output);
  const { readFileSync } = await import('node:fs');
  const read = issuerFromPem(
    readFileSync(join(folder, 'cert.pem'), 'utf8'),
    readFileSync(join(folder, 'key.pem'), 'utf8'),
  );
  const none = { dns: [], uri: [], email: [], ip: [] };
  const expected: NameConstraints = {
    permitted: { ...none, dns: ['.corp.example'] },
    excluded: { ...none, dns: ['bad.corp.example'], ip: ['0a010000ffff0000'] },
  };
  t.deepEqual(read.nameConstraints, [expected]);
  const isCertified = (...altNames: readonly IssuedAltName[]) =>
    constraintFault({ commonName: 'a', altNames }, read.nameConstraints) === undefined;
  t.deepEqual(
    [
      isCertified({ kind: 'dns', value: 'a.corp.example' }),
      isCertified({ kind: 'dns', value: 'x.bad.corp.example' }),
      isCertified({ kind: 'dns', value: 'a.elsewhere' }),
      isCertified({ kind: 'ip', value: '0a020000' }),
      isCertified({ kind: 'ip', value: '0a010001' }),
      isCertified({ kind: 'uri', value: 'spiffe://anywhere/a' }),
    ],
    [true, false, false, true, false, true],
  );
  t.deepEqual(nameConstraintsIn([]), []);
});
