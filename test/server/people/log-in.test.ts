import { createHmac, randomBytes, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { loginNonce } from '@signet/server/people/login-nonce';
import test from 'ava';
import { CompactSign, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { field, json, keyPem } from '#support/instance-world';
import { ecPair, type Pair, type RequestedName, requestPem } from '#support/requests';
import { caller, startServer, type TestServerOptions, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* A person logs in with the ID token of an issuer; whatever is wrong with token, nonce, request or name gives nothing. */

const issuer = 'https://people.example/realm';
const mail = 'https://mail.example';
const keys = await generateKeyPair('ES256', { extractable: true });
const others = await generateKeyPair('ES256', { extractable: true });
const file = wholeFile();
const folder = temporaryFolder(file);
const keysFile = join(folder, 'keys.json');
const publicJwk = { ...(await exportJWK(keys.publicKey)), kid: 'k1' };
writeFileSync(keysFile, JSON.stringify({ keys: [publicJwk] }));

const domains = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: { admin: ['user.root', 'user.other-root', 'sys.auth.operator'] },
    policies: { administration: [['ALLOW', 'admin', '*', '*']] },
  },
  { name: 'media', services: {}, roles: { reader: ['user.anna'] }, policies: {} },
] as const satisfies TestServerOptions['domains'];
const world = await startServer(file, {
  domains,
  options: {
    'people.loginExpirySeconds': 3600,
    'people.issuers': [
      {
        issuer,
        clientId: 'signet-cli',
        keysFile,
        subjects: {
          's-jane': 'user.jane',
          's-anna': 'user.anna',
          's-root': 'user.root',
          's-other': 'user.other-root',
          constructor_: 'user.constructor_',
        },
        administrators: ['user.root'],
      },
      { issuer: mail, clientId: 'mail-cli', keysFile, claim: 'email', prefix: 'm-', emailDomain: 'example.com' },
    ],
  },
});
const stranger = caller(file, world);
test.after.always(() => file.end());

interface Login {
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly signer?: typeof keys.privateKey;
  readonly pair?: Pair;
  /** Key for which the nonce is made. */
  readonly nonceFor?: Pair;
  readonly cn?: string;
  readonly altNames?: readonly RequestedName[];
  readonly body?: Readonly<Record<string, unknown>>;
}

const spkiOf = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'der' });

/** The body of a login that is right but for what is stated. */
async function loginBody({
  claims = {},
  header,
  signer,
  pair = ecPair(),
  nonceFor,
  cn = 'login',
  ...more
}: Login = {}) {
  const salt = randomBytes(32).toString('base64url');
  const now = epochSeconds(systemClock);
  const nonce = loginNonce(salt, spkiOf(nonceFor ?? pair));
  const all = { iss: issuer, aud: 'signet-cli', sub: 's-jane', iat: now, exp: now + 300, nonce, ...claims };
  const stated = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
  const idToken = await new SignJWT(stated)
    .setProtectedHeader({ alg: 'ES256', kid: 'k1', ...header })
    .sign(signer ?? keys.privateKey);
  const csr = requestPem(pair, { commonNames: [cn], ...(more.altNames !== undefined && { altNames: more.altNames }) });
  return { issuer: String(all.iss), idToken, csr, salt, ...more.body };
}

const refusalOf = ({ status, body }: { status: number; body: unknown }) => [status, field(body, 'message')];

test('whoever asks is told the issuers, and nothing else of the configuration', async (t) => {
  const { status, body, headers } = await stranger('/login');
  t.deepEqual(
    [status, body],
    [
      200,
      {
        issuers: [
          { issuer, clientId: 'signet-cli', scopes: [] },
          { issuer: mail, clientId: 'mail-cli', scopes: [] },
        ],
      },
    ],
  );
  t.is(headers['cache-control'], 'max-age=60');
});

test('a token that names two subjects logs nobody in, whoever signed it', async (t) => {
  const pair = ecPair();
  const body = await loginBody({ pair, claims: { sub: 's-anna' } });
  const [, payload = ''] = String(body.idToken).split('.');
  const text = Buffer.from(payload, 'base64url').toString();
  for (const changed of [
    text.replace('"sub":"s-anna"', '"sub":"s-jane","sub":"s-anna"'),
    text.replace('"sub":"s-anna"', '"sub":"s-anna","s\\u0075b":"s-jane"'),
    `\ufeff${text}`,
  ]) {
    const idToken = await new CompactSign(Buffer.from(changed))
      .setProtectedHeader({ alg: 'ES256', kid: 'k1' })
      .sign(keys.privateKey);
    const answer = await stranger('/login', json({ ...body, idToken }));
    t.deepEqual(refusalOf(answer), [401, 'idToken is not a valid token of the configured issuer'], changed);
  }
  t.is((await stranger('/login', json(body))).status, 200, 'the same without a change');
});

test('a person logs in once with a token, over one key; the audit log names issuer, subject and person', async (t) => {
  const pair = ecPair();
  const body = await loginBody({ pair, claims: { sub: 's-anna' } });
  const answers = await Promise.all([stranger('/login', json(body)), caller(t, world)('/login', json(body))]);
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 403]);
  const [given] = answers.filter(({ status }) => status === 200);
  const [refused] = answers.filter(({ status }) => status === 403);
  t.is(field(refused?.body, 'message'), 'the ID token was used before');
  t.deepEqual(refusalOf(await stranger('/login', json(body))), [403, 'the ID token was used before']);
  const leaf = new X509Certificate(String(field(given?.body, 'certificate')));
  const serial = leaf.serialNumber.toLowerCase();
  t.deepEqual((await world.store.certificates.find(serial))?.askers, ['user.anna'], 'its holder asked for it');
  t.is(leaf.subject, 'CN=user.anna');
  t.is(leaf.subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/user.anna');
  t.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  t.is(Math.round((leaf.validToDate.getTime() - leaf.validFromDate.getTime()) / 1000), 2 * 3600);
  const [record] = await world.store.audit({ subject: 'user.anna', limit: 5 });
  t.like(record, { actor: 'user.anna', action: 'issue-certificate', subject: 'user.anna' });
  const after = JSON.parse(record?.after ?? '');
  t.like(after, { serial, kind: 'user', login: { issuer, subject: 's-anna' } });
  t.is((await world.store.audit({ subject: 'user.anna', limit: 5 })).length, 1);
  const anna = caller(t, world, { certificate: String(field(given?.body, 'certificate')), key: keyPem(pair) });
  t.is((await anna('/access/domain/media/principal/user.anna')).status, 200);
});

const root = async () => refusalOf(await stranger('/login', json(await loginBody({ claims: { sub: 's-root' } }))));
test('a name with a role in `sys.auth` logs in where it is listed', async (t) => {
  t.deepEqual(await root(), [200, undefined]);
  const other = await stranger('/login', json(await loginBody({ claims: { sub: 's-other' } })));
  t.deepEqual(refusalOf(other), [
    403,
    '`user.other-root` holds `sys.auth:role.admin`: it must be in `administrators` of `people.issuers` to log in',
  ]);
});

const now = epochSeconds(systemClock);
const bad = 'idToken is not a valid token of the configured issuer';
const unnamed = (sub: string) =>
  `\`${sub}\` of \`${issuer}\` has no name here: an operator must add it to \`subjects\` of \`people.issuers\``;
const noSubject = 'idToken is a token without a usable `sub`';
const refusals: readonly (readonly [note: string, login: Login, status: number, message: string])[] = [
  [
    'of another issuer',
    { claims: { iss: 'https://evil.example' } },
    400,
    '`issuer` is not one with which people log in here',
  ],
  [
    'of another issuer than it says',
    { claims: { iss: mail }, body: { issuer } },
    401,
    'idToken is a token with another issuer',
  ],
  ['for another client', { claims: { aud: 'other' } }, 401, 'idToken is a token with another audience'],
  ['without an audience', { claims: { aud: undefined } }, 401, 'idToken is a token with another audience'],
  ['for several clients', { claims: { aud: ['signet-cli', 'other'] } }, 401, 'idToken is a token for others as well'],
  ['that another client got', { claims: { azp: 'other' } }, 401, 'idToken is a token for others as well'],
  ['that has expired', { claims: { iat: now - 900, exp: now - 120 } }, 401, 'idToken is a token with no time left'],
  ['without an end', { claims: { exp: undefined } }, 401, 'idToken is a token with no time left'],
  [
    'that is old',
    { claims: { iat: now - 720, exp: now + 600 } },
    401,
    'idToken is a token with a time of issue that is too long ago',
  ],
  ['without a nonce', { claims: { nonce: undefined } }, 401, 'idToken is a token that was made for another key'],
  ['with another nonce', { claims: { nonce: 'n' } }, 401, 'idToken is a token that was made for another key'],
  ['made for another key', { nonceFor: ecPair() }, 401, 'idToken is a token that was made for another key'],
  ['signed by somebody else', { signer: others.privateKey }, 401, bad],
  ['signed with a key that is not there', { header: { kid: 'k2' } }, 401, bad],
  ['without a subject', { claims: { sub: undefined } }, 401, noSubject],
  ['with a subject of another type', { claims: { sub: ['s-jane'] } }, 401, noSubject],
  ['with a line break in its subject', { claims: { sub: 's-jane\n' } }, 401, noSubject],
  ['with letters that look alike in its subject', { claims: { sub: 's-j\u0430ne' } }, 401, noSubject],
  ['with a subject in another case', { claims: { sub: 'S-JANE' } }, 403, unnamed('S-JANE')],
  ['with the name of a property of every object', { claims: { sub: 'constructor' } }, 403, unnamed('constructor')],
  ['with a subject that nobody knows', { claims: { sub: 'user.jane' } }, 403, unnamed('user.jane')],
  [
    'with a request for another name',
    { cn: 'user.jane' },
    400,
    'csr of a login must have the common name `login` and no other name',
  ],
  [
    'with a request for a host name',
    { altNames: [['dns', 'jane.example']] },
    400,
    'csr of a login must have the common name `login` and no other name',
  ],
  ['without a salt', { body: { salt: '' } }, 400, '`salt` is missing or not of its type'],
  ['that is too long', { body: { idToken: `${'a'.repeat(16_385)}` } }, 400, '`idToken` is too large'],
  ['that is no token', { body: { idToken: 'a.b.c' } }, 401, bad],
];
for (const [note, login, status, message] of refusals) {
  test(`a token ${note} gives nothing`, async (t) => {
    const answer = await stranger('/login', json(await loginBody(login)));
    t.deepEqual(answer.body, { code: status, message });
  });
}

test('a token that is signed with nothing, or with a public key as a secret, gives nothing', async (t) => {
  const { idToken, ...rest } = await loginBody();
  const [, payload = ''] = idToken.split('.');
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const none = `${encode({ alg: 'none' })}.${payload}.`;
  const signed = `${encode({ alg: 'HS256', kid: 'k1' })}.${payload}`;
  const secret = JSON.stringify(publicJwk);
  const hmac = `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
  for (const forged of [none, hmac]) {
    t.deepEqual(refusalOf(await stranger('/login', json({ ...rest, idToken: forged }))), [401, bad]);
  }
  t.deepEqual(refusalOf(await stranger('/login', json({ ...rest, idToken }))), [200, undefined]);
});

const address = (email: unknown, email_verified: unknown): Login => ({
  claims: { iss: mail, aud: 'mail-cli', email, email_verified },
});
const unverified = 'the issuer has not verified the mail address (`email_verified`)';
const foreign = 'the mail address is not of the `emailDomain` of `people.issuers`';
const unfit = 'the mail address cannot be a name: lower-case letters, digits, dots and `-` before the `@`';
const addresses: readonly (readonly [email: unknown, verified: unknown, outcome: string])[] = [
  ['jane@example.com', true, 'user.m-jane'],
  ['jane.doe@EXAMPLE.com', true, 'user.m-jane_doe'],
  ['jane@example.com', 'true', unverified],
  ['jane@example.com', undefined, unverified],
  ['jane@example.com', false, unverified],
  ['jane@evil.example.com', true, foreign],
  ['jane@example.com.evil', true, foreign],
  ['jane@evil@example.com', true, foreign],
  ['jane@example.com@evil.example', true, foreign],
  ['jane', true, foreign],
  ['jane_doe@example.com', true, unfit],
  ['Jane@example.com', true, unfit],
  ['jane+x@example.com', true, unfit],
  ['jane..doe@example.com', true, unfit],
  ['@example.com', true, unfit],
  ['j\u0430ne@example.com', true, unfit],
  ['sys.auth:role.admin@example.com', true, unfit],
  [['jane@example.com'], true, 'the ID token has no claim `email`: ask for the scope `email`'],
  [
    `${'j'.repeat(58)}@example.com`,
    true,
    'the claim `email` of the ID token cannot be a name: lower-case letters, digits, `_` and `-`, at most 59',
  ],
];
for (const [email, verified, outcome] of addresses) {
  test(`the address ${JSON.stringify(email)}, verified ${verified}: ${outcome}`, async (t) => {
    const login = address(email, verified);
    const { body } = await stranger('/login', json(await loginBody(login)));
    t.is(field(body, 'name') ?? field(body, 'message'), outcome);
  });
}

test('a token whose audience is an array of one counts', async (t) => {
  const { status } = await stranger(
    '/login',
    json(await loginBody({ claims: { aud: ['signet-cli'], azp: 'signet-cli' } })),
  );
  t.is(status, 200);
});

test('a certificate that is presented must be valid here too, and changes nothing', async (t) => {
  const operator = caller(t, world, await world.pki.identity('sys.auth.operator'));
  const { body } = await operator('/login', json(await loginBody()));
  t.is(field(body, 'name'), 'user.jane');
  const expired = await world.pki.odd({ subject: 'CN=media.player', notAfter: systemClock.now() - 1000 });
  t.is((await caller(t, world, expired)('/login', json(await loginBody()))).status, 401);
});
