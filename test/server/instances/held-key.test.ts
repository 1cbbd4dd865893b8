import { createPublicKey, ECDH, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { parseKeyId } from '@signet/policy-engine/names';
import { heldKey } from '@signet/server/instances/held-key';
import test from 'ava';

/* Under which id a service has registered a key, however that was written. */

const spkiOf = (key: KeyObject) => key.export({ type: 'spki', format: 'der' });
const pemOf = (key: KeyObject) => key.export({ type: 'spki', format: 'pem' }).toString();
const curve = (name: string) => generateKeyPairSync('ec', { namedCurve: name }).publicKey;

/** A P-256 key whose point is written in another form. */
function inForm(key: KeyObject, form: 'compressed' | 'hybrid'): KeyObject {
  const spki = spkiOf(key);
  const written = Buffer.from(
    ECDH.convertKey(spki.subarray(-65), 'prime256v1', undefined, 'hex', form).toString(),
    'hex',
  );
  const algorithm = spki.subarray(2, -68);
  const bits = Buffer.concat([Buffer.of(3, written.length + 1, 0), written]);
  const body = Buffer.concat([algorithm, bits]);
  const der = Buffer.concat([Buffer.of(0x30, body.length), body]);
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

const kinds: readonly (readonly [string, KeyObject])[] = [
  ['P-256', curve('P-256')],
  ['P-384', curve('P-384')],
  ['P-521', curve('P-521')],
  ['Ed25519', generateKeyPairSync('ed25519').publicKey],
  ['RSA', generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey],
];
const registered = new Map(kinds.map(([name, key]) => [parseKeyId(name), pemOf(key)]));

for (const [name, key] of kinds) {
  test(`a registered key is found: ${name}`, (t) => {
    t.is(heldKey(registered, { spki: spkiOf(key) }, key), parseKeyId(name));
    t.is(heldKey(new Map(), { spki: spkiOf(key) }, key), undefined);
  });
}

test('another key of the same kind is not', (t) => {
  const other = curve('P-256');
  t.is(heldKey(registered, { spki: spkiOf(other) }, other), undefined);
});

for (const form of ['compressed', 'hybrid'] as const) {
  test(`a key that was registered with a ${form} point is found`, (t) => {
    const key = curve('P-256');
    const keys = new Map([
      [parseKeyId('damaged'), 'no key'],
      [parseKeyId('other'), pemOf(curve('P-256'))],
      [parseKeyId('own'), pemOf(inForm(key, form))],
      [parseKeyId('again'), pemOf(key)],
    ]);
    t.is(heldKey(keys, { spki: spkiOf(key) }, key), parseKeyId('own'));
  });
}
