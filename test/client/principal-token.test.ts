import { generateKeyPairSync, verify } from 'node:crypto';
import { createPrincipalTokenSource, type PrincipalTokenOptions } from '@signet/client';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { isNoName } from '#support/invalid-name';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

function decodeYbase64(text: string): Buffer {
  return Buffer.from(text.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64');
}

for (const [kind, pair] of [
  ['EC', ec],
  ['RSA', rsa],
] as const) {
  test(`a principal token is signed over its exact text: ${kind}`, (t) => {
    const clock = new FakeClock(1_767_225_600_900);
    const privateKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const source = createPrincipalTokenSource({
      domain: 'Media',
      service: 'player',
      privateKey,
      keyId: 'v1',
      host: 'h1',
      clock,
    });
    const { token, expiresAt } = source.get();
    const [text = '', signature = ''] = token.split(';s=');
    t.regex(text, /^v=S1;d=media;n=player;h=h1;a=[0-9a-f]{16};t=1767225600;e=1767229200;k=v1$/);
    t.is(expiresAt, 1_767_229_200_000);
    t.true(verify('sha256', Buffer.from(text), pair.publicKey, decodeYbase64(signature)));
  });
}

test('the host is carried when it is given', (t) => {
  const options = { domain: 'media', service: 'player', privateKey: ec.privateKey, keyId: '0', clock: new FakeClock() };
  t.regex(createPrincipalTokenSource(options).get().token, /^v=S1;d=media;n=player;a=/);
  const host = `${'h'.repeat(252)}.`;
  t.true(
    createPrincipalTokenSource({ ...options, host })
      .get()
      .token.startsWith(`v=S1;d=media;n=player;h=${host};a=`),
  );
  t.throws(() => createPrincipalTokenSource({ ...options, host: `${host}h` }), { message: 'host is not a host name' });
});

test('a principal token is kept while a quarter of its life remains', (t) => {
  const clock = new FakeClock();
  const options = { domain: 'media', service: 'player', privateKey: ec.privateKey, keyId: '0', clock };
  const source = createPrincipalTokenSource({ ...options, lifetimeSeconds: 400 });
  const first = source.get();
  clock.advance(300_000);
  t.is(source.get(), first);
  clock.advance(1);
  const second = source.get();
  t.not(second.token, first.token);
  t.regex(second.token, /;t=1767225900;e=1767226300;/);
});

test('another key version signs from the moment that it is there', (t) => {
  const options = { domain: 'media', service: 'player', privateKey: ec.privateKey, keyId: '0', clock: new FakeClock() };
  const source = createPrincipalTokenSource(options);
  t.regex(source.get().token, /;k=0;s=/);
  t.throws(() => source.rotate({ privateKey: 'x', keyId: '1' }));
  t.throws(() => source.rotate({ privateKey: ec.privateKey, keyId: ';' }));
  t.regex(source.get().token, /;k=0;s=/);
  const next = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  source.rotate({ privateKey: next.privateKey, keyId: '1' });
  const [text = '', signature = ''] = source.get().token.split(';s=');
  t.regex(text, /;k=1$/);
  const bytes = Buffer.from(signature.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64');
  t.true(verify('sha256', Buffer.from(text), next.publicKey, bytes));
});

const bad: readonly { note: string; change: Partial<PrincipalTokenOptions>; message: string }[] = [
  { note: 'domain', change: { domain: 'a;b' }, message: `domain ${isNoName('DomainName')}` },
  { note: 'service', change: { service: 'a.b' }, message: `service ${isNoName('ServiceName')}` },
  { note: 'key id', change: { keyId: 'a=b' }, message: `keyId ${isNoName('KeyId')}` },
  { note: 'host', change: { host: 'a;s=x' }, message: 'host is not a host name' },
  {
    note: 'life',
    change: { lifetimeSeconds: 2_592_001 },
    message: 'lifetimeSeconds must be an integer from 1 to 2592000',
  },
  { note: 'key text', change: { privateKey: 'secret' }, message: 'privateKey is not a PEM private key' },
  {
    note: 'public key',
    change: { privateKey: ec.publicKey },
    message: 'privateKey must be an EC or RSA private key',
  },
  {
    note: 'key of another kind',
    change: { privateKey: generateKeyPairSync('ed25519').privateKey },
    message: 'privateKey must be an EC or RSA private key',
  },
];

for (const { note, change, message } of bad) {
  test(`no principal token with a bad ${note}`, (t) => {
    const options = { domain: 'media', service: 'player', privateKey: ec.privateKey, keyId: '0', ...change };
    t.like(
      t.throws(() => createPrincipalTokenSource(options)),
      { name: 'SignetClientError', code: 'invalid-argument', message },
    );
  });
}
