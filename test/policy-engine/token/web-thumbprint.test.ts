import { createHash } from 'node:crypto';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* The thumbprint where there is no Node: of the same forms as elsewhere, and of nothing none, not even that of no bytes. */

const { webThumbprint } = await internals<{ webThumbprint(certificate: unknown): Promise<string | undefined> }>(
  'policy-engine/src/token/web-thumbprint.ts',
);
const { pem, raw, thumbprint } = (await createTestAuthority()).certificate('media.player');

test('the thumbprint of a certificate in each of its forms', async (t) => {
  t.is(thumbprint, createHash('sha256').update(raw).digest('base64url'));
  for (const form of [pem, raw, new Uint8Array(raw), { raw }, `x\n${pem}${pem}`]) {
    t.is(await webThumbprint(form), thumbprint);
  }
});

const none: [note: string, value: unknown][] = [
  ['no bytes', new Uint8Array()],
  ['an object with no bytes', { raw: new Uint8Array() }],
  ['an object without them', {}],
  ['an object with a string', { raw: pem }],
  ['a string that is none', 'certificate'],
  ['a string with broken base64', '-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----'],
  ['an empty string', ''],
  ['null', null],
  ['nothing', undefined],
  ['a number', 7],
];
for (const [note, value] of none) {
  test(`no thumbprint of ${note}`, async (t) => t.is(await webThumbprint(value), undefined));
}
