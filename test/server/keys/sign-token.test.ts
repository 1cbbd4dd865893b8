import { createPublicKey } from 'node:crypto';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import { p1363FromDer, tokenSigner } from '@signet/server/keys/sign-token';
import test from 'ava';
import { compactVerify } from 'jose';
import jsonwebtoken from 'jsonwebtoken';

const { record, privateKey } = newSigningKey('token', 0, 0);
const publicKey = createPublicKey(privateKey);

test('another implementation verifies what is signed, a thousand times', async (t) => {
  const signer = tokenSigner({ kid: record.kid, privateKey }, 'at+jwt');
  for (let round = 0; round < 1000; round++) {
    const claims = { sub: 'media.player', round, text: 'ä€𝄞"\\' };
    const token = signer.sign(JSON.stringify(claims));
    const { payload, protectedHeader } = await compactVerify(token, publicKey, { algorithms: ['ES256'] });
    t.deepEqual(JSON.parse(new TextDecoder().decode(payload)), claims);
    t.deepEqual(protectedHeader, { alg: 'ES256', kid: record.kid, typ: 'at+jwt' });
  }
});

test('a second implementation agrees', (t) => {
  const token = tokenSigner({ kid: record.kid, privateKey }, 'JWT').sign('{"sub":"x"}');
  const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString();
  t.deepEqual(jsonwebtoken.verify(token, pem, { algorithms: ['ES256'] }), { sub: 'x' });
});

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex');
const full = 'ff'.repeat(32);
const low = `7f${'11'.repeat(31)}`;

const integers: readonly (readonly [name: string, der: string, r: string, s: string])[] = [
  ['both of 32 bytes', `3044 0220 ${low} 0220 ${low}`, low, low],
  ['both with a sign byte', `3046 0221 00${full} 0221 00${full}`, full, full],
  ['a short r', `3043 021f ${'22'.repeat(31)} 0220 ${low}`, `00${'22'.repeat(31)}`, low],
  ['a very short s', `3025 0220 ${low} 0201 05`, low, `${'00'.repeat(31)}05`],
  ['a short r with a sign byte', `3045 0220 00${'f0'.repeat(31)} 0221 00${full}`, `00${'f0'.repeat(31)}`, full],
];

for (const [name, der, r, s] of integers) {
  test(`unpacks a signature with ${name}`, (t) => t.is(p1363FromDer(hex(der)).toString('hex'), `${r}${s}`));
}
