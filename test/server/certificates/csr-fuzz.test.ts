import { randomBytes, sign } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { bitString, element, oid, sequence, set } from '@signet/policy-engine/internal/der';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '@signet/server/errors';
import { athenzForms } from '@signet/server/x509/athenz-forms';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { grantInstanceNames } from '@signet/server/x509/csr-rules';
import { signOrder } from '@signet/server/x509/issue-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { signetForms } from '@signet/server/x509/name-forms';
import test from 'ava';
import fc from 'fast-check';
import { makeAuthority } from '#support/authority';
import { ecPair, type RequestedName, requestDer, toPem } from '#support/requests';
import { temporaryFolder } from '#support/temp';

const pair = ecPair();
const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const grants = {
  mayUseSuffix: (suffix: string) => suffix === 'cloud.test',
  hostname: 'h.cloud.test',
  addressFault: () => undefined,
  dnsForm: 'media',
};

const texts = fc.constantFrom(
  'spiffe://signet.test/ns/default/sa/media.player',
  'spiffe://media/sa/player',
  'i-1.instanceid.signet.test',
  'i-1.instanceid.athenz.cloud.test',
  'player.media.signet.test',
  '*.player.media.cloud.test',
  'athenz://instanceid/sys.auth.server/i-1',
  'athenz://hostname/h.cloud.test',
  'h.cloud.test',
  '*.',
  '__proto__',
);
const altNames: fc.Arbitrary<RequestedName[]> = fc.array(
  fc.tuple(
    fc.constantFrom('dns', 'uri', 'email', 'ip', 'directory'),
    fc.oneof(
      { weight: 8, arbitrary: texts },
      fc.uint8Array({ maxLength: 20 }).map((octets) => Buffer.from(octets)),
    ),
  ),
  { maxLength: 3 },
);
const attribute = fc
  .tuple(
    fc.constantFrom('2.5.4.3', '2.5.4.6', '2.5.4.10', '2.5.4.11', '1.2.3'),
    fc.constantFrom(0x0c, 0x13, 0x16, 0x1e),
    fc.oneof(fc.constant('media.player'), fc.string({ maxLength: 70 })),
  )
  .map(([type, tag, text]) => set(sequence(oid(type), element(tag, Buffer.from(text)))));

/** Octets of the signed part that are changed before it is signed: the signature then holds, and everything behind it is reached. */
const changes = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 2 });

/** The same request, long enough for lengths of two octets, with octets of its signed part changed, and a signature that fits. */
function changed(der: Buffer, octets: readonly (readonly [at: number, octet: number])[]): Buffer {
  const length = der.readUInt16BE(6);
  const info = Buffer.from(der.subarray(4, 8 + length));
  for (const [at, octet] of octets) info[at % info.length] = octet;
  return sequence(info, sequence(oid('1.2.840.10045.4.3.2')), bitString(sign('sha256', info, pair.privateKey)));
}

test('whatever is asked for, and however it is written, is refused or issued as it was granted', async (t) => {
  const authority = await makeAuthority(temporaryFolder(t));
  const issuer = issuerFromPem(authority.certificatePem, authority.keyPem);
  const certificates = { intend: () => Promise.resolve() };
  const deps = { issuers: { signing: () => issuer }, clock: systemClock, randomBytes, certificates };
  const reached = { refused: 0, issued: 0 };
  const property = fc.asyncProperty(
    altNames,
    fc.array(attribute, { maxLength: 1 }),
    changes,
    fc.boolean(),
    async (names, moreSubject, octets, athenz) => {
      const shape = {
        commonNames: ['media.player'],
        moreSubject,
        altNames: [...names, ['uri', 'x'.repeat(200)]] as const,
      };
      const der = requestDer(pair, octets.length === 0 ? { ...shape, altNames: names } : shape);
      const rules = {
        trustDomain: 'signet.test',
        dnsSuffix: 'signet.test',
        forms: athenz ? athenzForms(['signet.test']) : signetForms,
      };
      try {
        const request = parseCertificateRequest(toPem(octets.length === 0 ? der : changed(der, octets)));
        const { instanceId, ...granted } = grantInstanceNames(request, key, rules, grants);
        const order = { kind: 'instance', usage: 'both', defaultSeconds: 600, maxSeconds: [], ...key } as const;
        const holder = parsePrincipalName('media.player');
        await signOrder(deps, { ...order, names: granted, subjectKey: request.subjectKey, holder, instanceId });
        reached.issued += 1;
      } catch (error) {
        if (!(error instanceof InvalidRequestError)) throw error;
        reached.refused += 1;
      }
    },
  );
  await fc.assert(property, { numRuns: 600 });
  t.true(reached.issued > 0 && reached.refused > 0, JSON.stringify(reached));
});
