import { createHash, X509Certificate } from 'node:crypto';
import { certificateThumbprint, PolicyEngineError } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { createPki } from '#support/pki';

const pem = (await (await createPki()).identity('media.player')).certificate;
const { raw } = new X509Certificate(pem);
const expected = createHash('sha256').update(raw).digest('base64url');

test('the thumbprint of a certificate in each of its forms', (t) => {
  for (const form of [pem, raw, new Uint8Array(raw), new X509Certificate(pem), { raw }]) {
    t.is(certificateThumbprint(form as never), expected);
  }
});

const none: [note: string, value: unknown][] = [
  ['no bytes', new Uint8Array()],
  ['an object with no bytes', { raw: new Uint8Array() }],
  ['an object without them', {}],
  ['an object with a string', { raw: pem }],
  ['a string that is none', 'certificate'],
  ['an empty string', ''],
  ['null', null],
  ['nothing', undefined],
  ['a number', 7],
];
for (const [note, value] of none) {
  test(`no thumbprint of ${note}`, (t) => {
    t.throws(() => certificateThumbprint(value as never), { instanceOf: PolicyEngineError, code: 'invalid-options' });
  });

  test(`a bound token does not count with ${note} for a certificate`, async (t) => {
    const authority = await createTestAuthority();
    const rules = [{ role: 'reader', action: 'read', resource: 'movie' }];
    const engine = authority.engine({ catalog: [{ name: 'catalog:policy.p', assertions: rules }] });
    const empty = createHash('sha256').digest('base64url');
    const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: { thumbprint: empty } });
    const asked = { token, action: 'read', resource: 'catalog:movie', certificate: value as never };
    t.not((await engine.decide(asked)).status, 'ALLOW');
  });
}
