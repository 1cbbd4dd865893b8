import { sequence } from '@signet/policy-engine/internal/der';
import { parsePathElement, parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { callingHost } from '@signet/server/instances/calling-host';
import { buildTbsCertificate, serialFrom, signCertificate } from '@signet/server/x509/build-certificate';
import type { IssuedAltName } from '@signet/server/x509/certificate-profile';
import { relativeName } from '@signet/server/x509/distinguished-name';
import type { Issuer } from '@signet/server/x509/issuer';
import { signetForms } from '@signet/server/x509/name-forms';
import { oids } from '@signet/server/x509/oids';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import test from 'ava';
import { commonName, ecPair } from '#support/requests';

/* Host of a certificate that asks for an SSH certificate, against stores that are a row. */

const pair = ecPair();
const subjectKey = parseSubjectKey(pair.publicKey.export({ type: 'spki', format: 'der' }));
const issuer = {
  name: sequence(commonName('Test CA')),
  keyIdentifier: Buffer.alloc(20, 1),
  distributionPoints: [],
  kind: 'P-256',
  privateKey: pair.privateKey,
} as unknown as Issuer;
const naming = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };

const ownName = 'i-1.player.media.sys-cloud.instanceid.signet.test';
const otherName = 'i-2.player.media.sys-cloud.instanceid.signet.test';
const host = 'h1.example.com';

function certificate(names: readonly string[]): Buffer {
  const profile = {
    kind: 'instance',
    commonName: 'media.player',
    subject: [relativeName(oids.commonName, 'media.player')],
    altNames: [
      { kind: 'uri', value: 'spiffe://signet.test/ns/default/sa/media.player' },
      ...names.map((value): IssuedAltName => ({ kind: 'dns', value })),
      { kind: 'ip', value: '0a000001' },
    ],
    usage: 'both',
    notBefore: 1_767_222_000,
    notAfter: 1_767_312_000,
  } as const;
  return signCertificate(
    buildTbsCertificate(profile, subjectKey, issuer, serialFrom(1_767_225_600, Buffer.alloc(12))),
    issuer,
  );
}

const instance = { kind: 'instance', provider: parsePrincipalName('sys.cloud'), instanceId: parsePathElement('i-1') };
const current = { lineage: 'current', sshAllowed: true };

interface Ask {
  readonly names?: readonly string[];
  readonly row?: object | undefined;
  readonly status?: object | undefined;
}

function ask({ names = [ownName, otherName, host, '*.example.com'], ...more }: Ask) {
  const row = 'row' in more ? more.row : instance;
  const states = ['status' in more ? more.status : current];
  const deps = {
    certificates: { find: async (serial: string) => (serial === '0a' ? row : undefined) },
    instances: { statusOf: async () => states.at(-1) },
    naming,
  };
  const caller = {
    principal: parsePrincipalName('media.player'),
    certificate: { der: certificate(names), serial: '0a' },
  };
  return { found: callingHost(deps as never, caller as never, {} as never), states };
}

const unknown = 'the certificate of an instance is not known here, it must register again';
const notCurrent = 'the certificate is not the current one of a registered instance';
const notAllowed = 'provider `sys.cloud` does not allow this instance an SSH certificate';
const cases: readonly (readonly [note: string, ask: Ask, names: readonly string[] | string])[] = [
  ['a current instance', {}, [ownName, host]],
  ['the certificate before the current one', { status: { ...current, lineage: 'previous' } }, [ownName, host]],
  ['a certificate of no lineage', { status: { ...current, lineage: 'none' } }, notCurrent],
  ['an instance that is not recorded', { status: undefined }, notCurrent],
  ['one whose provider does not allow it', { status: { ...current, sshAllowed: false } }, notAllowed],
  ['a certificate without its provider', { row: { ...instance, provider: undefined } }, unknown],
  ['a certificate without its id', { row: { ...instance, instanceId: undefined } }, unknown],
  ['a service', { row: { kind: 'service' } }, [host]],
  ['a certificate that is not known, with the name of an instance', { row: undefined }, unknown],
  ['a certificate that is not known, of a service', { row: undefined, names: [host] }, [host]],
];
for (const [note, asked, expected] of cases) {
  test(`the host that asks: ${note}`, async (t) => {
    const { found } = ask(asked);
    if (typeof expected === 'string') {
      await t.throwsAsync(found, { instanceOf: ForbiddenError, message: expected });
      return;
    }
    const { namesAt, provider, service } = await found;
    t.deepEqual(namesAt(undefined as never), expected);
    t.is(service, parsePrincipalName('media.player'));
    t.is(provider, expected.includes(ownName) ? instance.provider : undefined);
  });
}

test('what an instance may is asked again', async (t) => {
  const { found, states } = ask({});
  const { stillAllowed } = await found;
  await t.notThrowsAsync(async () => stillAllowed?.());
  states.push({ ...current, sshAllowed: false });
  await t.throwsAsync(async () => stillAllowed?.(), { instanceOf: ForbiddenError, message: notAllowed });
});
