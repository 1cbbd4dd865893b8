import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { AttestationRequest } from '@signet/server/instances/attestation/attestation';
import { attestedBy, confirmationFor, confirmationSchema } from '@signet/server/instances/attestation/confirmation';
import test from 'ava';

/* Meaning of a provider's answer, member by member, and the request to it. */

const lives: [text: string | undefined, seconds: number | undefined][] = [
  [undefined, undefined],
  ['', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1', 60],
  ['10', 600],
  ['1.5', undefined],
  ['soon', undefined],
  ['9007199254740992', undefined],
];
for (const [text, seconds] of lives) {
  test(`an expiry time of ${text ?? 'none'}`, (t) => {
    t.is(attestedBy(text === undefined ? {} : { certExpiryTime: text }).maxSeconds, seconds);
  });
}

test('a usage that is not given narrows the certificate to clients', (t) => {
  const usages = [undefined, '', 'server', 'client', 'codeSigning'].map(
    (certUsage) => attestedBy(certUsage === undefined ? {} : { certUsage }).usage,
  );
  t.deepEqual(usages, ['both', 'both', 'server', 'client', 'client']);
});

test('SSH is allowed by `true` alone, a record left out by `false` alone', (t) => {
  const answers = ['true', 'false', 'TRUE', ''].map((text) => attestedBy({ certSSH: text, certRefresh: text }));
  t.deepEqual(
    answers.map(({ ssh, recorded }) => [ssh, recorded]),
    [
      [true, true],
      [false, false],
      [false, true],
      [false, true],
    ],
  );
  t.like(attestedBy({}), { ssh: false, recorded: true, sshPrincipals: undefined });
});

test('principals are a list, and what is not acted on is for the instance', (t) => {
  const found = attestedBy({ attestedSshCertPrincipals: 'a.example,,b.example', certSubjectOU: 'x', zone: 'z1' });
  t.deepEqual(found.sshPrincipals, ['a.example', 'b.example']);
  t.deepEqual(found.attributes, { zone: 'z1' });
});

const request: AttestationRequest = {
  operation: 'register',
  provider: parsePrincipalName('prov.cloud'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
  attestationData: 'data',
  altNames: [
    { kind: 'dns', value: 'own.signet.test' },
    { kind: 'dns', value: '*.a.example' },
    { kind: 'dns', value: 'a.example' },
    { kind: 'ip', value: '0a000001' },
    { kind: 'uri', value: 'spiffe://signet.test/x' },
  ],
  clientAddress: '10.0.0.1',
};

test('a provider judges names that are neither the own ones nor wildcards', (t) => {
  t.deepEqual(confirmationFor(request, (name) => name === 'own.signet.test').attributes, {
    instanceId: 'i-1',
    clientIP: '10.0.0.1',
    sanDNS: 'a.example',
    sanIP: '10.0.0.1',
    sanURI: 'spiffe://signet.test/x',
  });
  t.deepEqual(confirmationFor({ ...request, altNames: [] }, () => false).attributes, {
    instanceId: 'i-1',
    clientIP: '10.0.0.1',
    sanDNS: '',
  });
});

test('an answer with so many attributes, and one more', (t) => {
  const answer = (count: number) => ({
    provider: 'sys.cloud',
    domain: 'media',
    service: 'player',
    attributes: Object.fromEntries(Array.from({ length: count }, (_, i) => [`a${i}`, 'x'])),
  });
  t.deepEqual(
    [64, 65].map((count) => confirmationSchema.safeParse(answer(count)).success),
    [true, false],
  );
});
