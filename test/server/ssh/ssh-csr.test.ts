import { generateKeyPairSync } from 'node:crypto';
import { TooLargeError } from '@signet/server/errors';
import { parseSshCertRequest, parseSshCsr } from '@signet/server/ssh/ssh-csr';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import { isNoName } from '#support/invalid-name';

const key = sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
const publicKey = `${formatSshPublicKey(key)} root@host`;

function request(data: object = {}, meta: object = {}, top: object = {}): unknown {
  return {
    certRequestData: { principals: ['play.media.test'], publicKey, ...data },
    certRequestMeta: { requestor: 'media.play', origin: '10.0.0.1', certType: 'host', ...meta },
    ...top,
  };
}

test('reads a request as agents send it', (t) => {
  const meta = {
    clientInfo: 'agent 1',
    sshClientVersion: 'OpenSSH_9.2',
    keyIdPrincipals: ['media.play'],
    athenzService: 'Media.play',
    instanceId: 'i-0A',
    prevCertValidFrom: '2026-01-01T00:00:00.000Z',
    prevCertValidTo: '2126-01-01T00:00:00.000Z',
    transId: '1',
  };
  const asked = { sources: [], destinations: [], command: '', touchPublicKey: '', caPubKeyAlgo: 3 };
  const read = parseSshCsr(JSON.stringify(request(asked, meta, { csr: '' })));
  t.is(read.publicKey.fingerprint, key.fingerprint);
  t.deepEqual({ ...read, publicKey: undefined } as unknown, {
    kind: 'host',
    principals: ['play.media.test'],
    publicKey: undefined,
    requestor: 'media.play',
    service: 'media.play',
    instanceId: 'i-0A',
  });
});

for (const [certType, kind] of [
  ['user', 'user'],
  ['SSH_USER', 'user'],
  ['host', 'host'],
  ['SSH_HOST', 'host'],
]) {
  test(`the kind ${certType}`, (t) => t.is(parseSshCertRequest(request({}, { certType })).kind, kind as 'user'));
}

test('a principal that is asked for twice is there once', (t) => {
  t.deepEqual(parseSshCertRequest(request({ principals: ['a', 'b', 'a'] })).principals, ['a', 'b']);
});

const refused: { note: string; value: unknown; message: string | RegExp }[] = [
  { note: 'nothing', value: undefined, message: 'ssh certificate request is missing or has the wrong type' },
  { note: 'a list', value: [], message: 'ssh certificate request is missing or has the wrong type' },
  {
    note: 'no meta',
    value: { certRequestData: { principals: ['a'], publicKey } },
    message: 'certRequestMeta is missing or has the wrong type',
  },
  {
    note: 'no principals',
    value: request({ principals: [] }),
    message: 'certRequestData.principals must not be empty',
  },
  {
    note: 'an empty principal',
    value: request({ principals: [''] }),
    message: 'certRequestData.principals.0 must not be empty',
  },
  {
    note: 'principals as text',
    value: request({ principals: 'root' }),
    message: 'certRequestData.principals is missing or has the wrong type',
  },
  {
    note: '65 principals',
    value: request({ principals: Array(65).fill('a') }),
    message: 'certRequestData.principals is too long',
  },
  {
    note: 'a principal of 257 characters',
    value: request({ principals: ['a'.repeat(257)] }),
    message: 'certRequestData.principals.0 is too long',
  },
  {
    note: 'no key',
    value: request({ publicKey: undefined }),
    message: 'certRequestData.publicKey is missing or has the wrong type',
  },
  {
    note: 'a DSA key',
    value: request({ publicKey: 'ssh-dss AAAAB3NzaC1kc3MAAACBAA==' }),
    message: /^certRequestData\.publicKey: the key type must be one of/,
  },
  {
    note: 'a forced command',
    value: request({ command: '/bin/sh' }),
    message: 'certRequestData.command is not accepted: options are set by configuration only',
  },
  {
    note: 'networks',
    value: request({ sources: ['10.0.0.1'] }),
    message: 'certRequestData.sources is not accepted: options are set by configuration only',
  },
  {
    note: 'destinations',
    value: request({ destinations: ['a'] }),
    message: 'certRequestData.destinations is not accepted: options are set by configuration only',
  },
  {
    note: 'a second key',
    value: request({ touchPublicKey: publicKey }),
    message: 'certRequestData.touchPublicKey is not accepted: one key a request',
  },
  {
    note: 'extensions',
    value: request({ extensions: ['permit-pty'] }),
    message: 'certRequestData has a field that is not known',
  },
  {
    note: 'a validity',
    value: request({}, { validBefore: 4_000_000_000 }),
    message: 'certRequestMeta has a field that is not known',
  },
  {
    note: 'a stray field',
    value: request({}, {}, { __secret__: 1 }),
    message: 'ssh certificate request has a field that is not known',
  },
  { note: 'a free-form request', value: request({}, {}, { csr: 'x' }), message: /^csr is not accepted/ },
  {
    note: 'attestation',
    value: request({}, {}, { attestationData: 'x' }),
    message: /^attestationData is not accepted/,
  },
  {
    note: 'an X.509 kind',
    value: request({}, { certType: 'X509' }),
    message: 'certRequestMeta.certType must be `user` or `host`',
  },
  {
    note: 'a requestor that is not a name',
    value: request({}, { requestor: 'a b' }),
    message: `certRequestMeta.requestor ${isNoName('PrincipalName')}`,
  },
  {
    note: 'an instance id that is none',
    value: request({}, { instanceId: 'a b' }),
    message: `certRequestMeta.instanceId ${isNoName('PathElement')}`,
  },
];

for (const { note, value, message } of refused) {
  test(`refuses: ${note}`, (t) => {
    t.throws(() => parseSshCertRequest(value), { message });
  });
}

test('text: not JSON, and too long', (t) => {
  t.throws(() => parseSshCsr('{'), { message: 'ssh is not JSON' });
  t.throws(() => parseSshCsr(' '.repeat(16_385)), { instanceOf: TooLargeError });
});

test('text cut at any character is refused as a request', (t) => {
  const text = JSON.stringify(request());
  for (let length = 0; length < text.length; length += 1) {
    t.throws(() => parseSshCsr(text.slice(0, length)), { message: 'ssh is not JSON' });
  }
});
