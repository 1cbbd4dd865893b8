import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { parseServiceName } from '@signet/policy-engine/names';
import { exactKeyId } from '@signet/server/base/registered-key';
import { UnauthenticatedError } from '@signet/server/errors';
import { verifyPrincipalToken } from '@signet/server/principals/principal-token';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { stored } from '#support/domains';

/* Every rule by itself: the texts are all signed properly, so that no signature stands in for the rule. */

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const ed = generateKeyPairSync('ed25519');
const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'spki' }).toString();
const now = 1_800_000_000;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pss = generateKeyPairSync('rsa-pss', { modulusLength: 2048 });
const keys = { 0: pem(ec.publicKey), e: pem(ed.publicKey), r: pem(rsa.publicKey), p: pem(pss.publicKey) };
const services = { player: keys, again: { 0: keys[0] }, gone: false as const };
const { snapshot } = compileSnapshot(undefined, {
  state: { epoch: 1, counter: 1, head: '' },
  domains: [
    {
      ...stored(domainContent({ name: 'media', services })),
      servicesFrom: new Map([[parseServiceName('again'), now * 1000]]),
    },
  ],
  deleted: [],
  signingKeys: [],
});
const ybase64 = (bytes: Buffer) =>
  bytes.toString('base64').replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-');

function signed(text: string, key: KeyObject = ec.privateKey): string {
  return `${text};s=${ybase64(sign('sha256', Buffer.from(text), key))}`;
}

/** Signature that ends with padding. */
function padded(text: string): string {
  const token = signed(text);
  return token.endsWith('-') ? token : padded(text);
}

/** Why the token is refused; `undefined` where it is not. */
function reasonOf(token: string, atMs = now * 1000): unknown {
  try {
    verifyPrincipalToken(token, { snapshot, findKeyId: exactKeyId }, atMs);
    return undefined;
  } catch (error) {
    if (error instanceof UnauthenticatedError) return (error.detail as Record<string, unknown>)['reason'];
    throw error;
  }
}

const times = (issued: number, expires: number) => `t=${now + issued};e=${now + expires}`;
const usual = `v=S1;d=media;n=player;a=x;${times(0, 60)};k=0`;
const cases: [note: string, text: string, reason: string | undefined][] = [
  ['a proper one', usual, undefined],
  ['a field that stands twice', `${usual};a=y`, 'malformed'],
  ['the service twice', `v=S1;d=media;n=player;n=player;${times(0, 60)}`, 'malformed'],
  ['a field without a name', `${usual};=x`, 'malformed'],
  ['a field without a value', `${usual};x`, 'malformed'],
  ['a second signature alone', `${usual};bs=x`, 'kind of token'],
  ['a second service', `${usual};b=x`, 'kind of token'],
  ['a key of the management service', `${usual};z=x`, 'kind of token'],
  ['another kind', usual.replace('v=S1', 'v=U1'), 'kind of token'],
  ['no kind', usual.replace('v=S1;', ''), 'kind of token'],
  ['no time of issue', usual.replace(/t=\d+;/, ''), 'malformed'],
  ['no end', usual.replace(/e=\d+;/, ''), 'malformed'],
  ['a time of issue of thirteen digits', usual.replace(/t=\d+/, `t=${'0'.repeat(13)}`), 'malformed'],
  ['an end with a sign', usual.replace('e=', 'e=-'), 'malformed'],
  ['issued at the end of the allowance', `v=S1;d=media;n=player;${times(300, 600)}`, undefined],
  ['issued past the allowance', `v=S1;d=media;n=player;${times(301, 600)}`, 'issued in the future'],
  ['in its last second', `v=S1;d=media;n=player;${times(-60, 0)}`, undefined],
  ['after its last second', `v=S1;d=media;n=player;${times(-60, -1)}`, 'expired'],
  ['the longest life', `v=S1;d=media;n=player;${times(0, 30 * 86_400 + 300)}`, undefined],
  ['a longer life', `v=S1;d=media;n=player;${times(0, 30 * 86_400 + 301)}`, 'lives too long'],
  ['of the second in which the service was made again', usual.replace('n=player', 'n=again'), undefined],
  ['of the second before', `v=S1;d=media;n=again;${times(-1, 60)}`, 'issued before the service was made again'],
  ['a name that is none', usual.replace('n=player', 'n=pl..yer'), 'malformed'],
  ['a disabled service', usual.replace('n=player', 'n=gone'), 'service is not enabled'],
  ['a service that is not there', usual.replace('n=player', 'n=nobody'), 'service is not enabled'],
  ['a key that is not there', usual.replace('k=0', 'k=1'), 'key is not registered'],
  ['a key of another kind', usual.replace('k=0', 'k=e'), 'signature does not fit'],
];
for (const [note, text, reason] of cases) {
  test(`a principal token, signed: ${note}`, (t) => t.is(reasonOf(signed(text)), reason));
}

test('its last second is whole', (t) => {
  const token = signed(`v=S1;d=media;n=player;${times(-60, 0)}`);
  t.is(reasonOf(token, now * 1000 + 999), undefined);
  t.is(reasonOf(token, now * 1000 + 1000), 'expired');
});

test('a signature in another form than its own', (t) => {
  const good = signed(usual);
  const signature = good.slice(good.lastIndexOf(';s=') + 3);
  for (const other of ['', 'AAA', '----', `${signature}AAAA`, signature.replace(/.$/, '='), `A${signature.slice(1)}`]) {
    t.is(reasonOf(good.replace(`;s=${signature}`, `;s=${other}`)), 'signature does not fit', other);
  }
  t.is(reasonOf(usual), 'malformed');
  t.is(reasonOf(`${signed(usual)} `), 'malformed');
});

test('the same signature in another spelling', (t) => {
  const good = padded(usual);
  t.is(reasonOf(good), undefined);
  const padding = good.slice(good.search(/-+$/));
  const body = good.slice(0, -padding.length);
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._';
  const spare = `${body.slice(0, -1)}${digits[digits.indexOf(body.at(-1) ?? '') + 1]}${padding}`;
  for (const other of [body + '='.repeat(padding.length), body, spare, `${good}----`]) {
    t.is(reasonOf(other), 'signature does not fit', other.slice(-8));
  }
});

test('a text without a signature', (t) => {
  // Whole fields are left when the last character is cut off.
  for (const text of [`${usual}x`, usual, `;s=${usual}`]) t.is(reasonOf(text), 'malformed');
});

test('so long a text, and one character more', (t) => {
  const base = padded(usual).length;
  const ofLength = (length: number): string => {
    const token = signed(`${usual};x=${'y'.repeat(length - base - 3)}`);
    return token.length === length ? token : ofLength(length);
  };
  t.deepEqual([reasonOf(ofLength(8192)), reasonOf(ofLength(8193))], [undefined, 'malformed']);
});

test('a key of RSA counts with PKCS #1 alone', (t) => {
  t.is(reasonOf(signed(usual.replace('k=0', 'k=r'), rsa.privateKey)), undefined);
  t.is(reasonOf(signed(usual.replace('k=0', 'k=p'), pss.privateKey)), 'signature does not fit');
});
