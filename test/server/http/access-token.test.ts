import { systemClock, toDate } from '@signet/policy-engine/clock';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose';
import { FakeClock } from '#support/clock';
import { thumbprintOf } from '#support/pki';
import { type CallOptions, caller, form, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const server = await startServer(file, {
  clock,
  domains: [
    {
      name: 'catalog',
      roles: {
        reader: ['media.player', 'media.studio', 'user.joe'],
        editor: ['media.studio'],
        brief: { members: ['media.studio'], tokenExpirySeconds: 60 },
        admin: [],
        dbreader: [],
      },
      services: { api: {}, off: false },
    },
    { name: 'media', services: { player: {}, studio: {}, guest: {}, gone: false } },
    { name: 'long', tokenExpirySeconds: 2_592_000, roles: { any: ['*'] } },
    { name: 'short', tokenExpirySeconds: 600, roles: { any: ['*'] } },
    { name: 'dark', enabled: false, roles: { reader: ['media.player'] }, services: { one: {} } },
  ],
});
const player = await server.pki.identity('media.player');
const studio = await server.pki.identity('media.studio');
const asPlayer = caller(file, server, player);
const asStudio = caller(file, server, studio);
const asGuest = caller(file, server, await server.pki.identity('media.guest'));
const nobody = caller(file, server);
const asRole = caller(file, server, await server.pki.odd({ subject: 'CN=catalog:role.reader' }));
const asJoe = caller(file, server, await server.pki.odd({ subject: 'CN=user.joe' }));
test.after.always(() => file.end());

const good = { grant_type: 'client_credentials', scope: 'catalog:domain' };
const goodBody = new URLSearchParams(good).toString();
const refusal = (code: number, error: string, message: string, description = message) => ({
  code,
  message,
  error,
  error_description: description,
});
const scopeItem =
  'scope holds an item that is neither `openid` nor `<domain>:domain`, `<domain>:role.<role>` or `<domain>:service.<service>`';
const noRole = 'principal has no access to any of the roles asked for in domain `catalog`';

const refusals: readonly (readonly [name: string, fields: Record<string, string> | string, body: object])[] = [
  ['grant_type missing', { scope: good.scope }, refusal(400, 'invalid_request', 'grant_type is missing')],
  ['grant_type empty', { ...good, grant_type: '' }, refusal(400, 'invalid_request', 'grant_type is missing')],
  ...['password', 'authorization_code', 'Client_Credentials', 'client_credentials '].map(
    (grant) =>
      [
        `grant_type ${JSON.stringify(grant)}`,
        { ...good, grant_type: grant },
        refusal(400, 'unsupported_grant_type', 'grant_type must be `client_credentials`'),
      ] as const,
  ),
  ['scope missing', { grant_type: good.grant_type }, refusal(400, 'invalid_request', 'scope is missing')],
  ['scope empty', { ...good, scope: '' }, refusal(400, 'invalid_request', 'scope is missing')],
  ['scope of blanks', { ...good, scope: '   ' }, refusal(400, 'invalid_scope', 'scope is empty')],
  [
    'a resource (RFC 8707)',
    { ...good, resource: 'https://films.example' },
    refusal(
      400,
      'invalid_target',
      'resource is not supported: name the domain in the scope, as in `catalog:role.reader`',
    ),
  ],
  ['scope with NUL', { ...good, scope: 'catalog:domain\0' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope with a tab', { ...good, scope: 'catalog:domain\tcatalog:role.x' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope with an umlaut', { ...good, scope: 'catälog:domain' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope with a lone word', { ...good, scope: 'catalog:domain reader' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope with a group', { ...good, scope: 'catalog:group.x' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope with a role pattern', { ...good, scope: 'catalog:role.*' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope without a role name', { ...good, scope: 'catalog:role.' }, refusal(400, 'invalid_scope', scopeItem)],
  ['scope without a domain name', { ...good, scope: ':domain' }, refusal(400, 'invalid_scope', scopeItem)],
  [
    'scope of too many items',
    { ...good, scope: Array.from({ length: 257 }, (_, at) => `catalog:role.r${at}`).join(' ') },
    refusal(400, 'invalid_scope', 'scope has more than 256 items'),
  ],
  [
    'two domains',
    { ...good, scope: 'catalog:role.reader media:role.x' },
    refusal(400, 'invalid_scope', 'scope names more than one domain'),
  ],
  ['openid alone', { ...good, scope: 'openid' }, refusal(400, 'invalid_scope', 'scope names no domain')],
  [
    'openid without a service',
    { ...good, scope: 'openid catalog:domain' },
    refusal(400, 'invalid_scope', '`openid` needs a scope `<domain>:service.<service>`'),
  ],
  [
    'a service without openid',
    { ...good, scope: 'catalog:domain catalog:service.api' },
    refusal(400, 'invalid_scope', 'a service scope needs `openid`'),
  ],
  [
    'openid and a service without a role',
    { ...good, scope: 'openid catalog:service.api' },
    refusal(400, 'invalid_scope', 'scope asks for no role: an ID token is given only beside an access token'),
  ],
  [
    'two services',
    { ...good, scope: 'openid catalog:domain catalog:service.api catalog:service.web' },
    refusal(400, 'invalid_scope', 'scope names more than one service'),
  ],
  [
    'a service of another domain',
    { ...good, scope: 'openid catalog:domain media:service.player' },
    refusal(400, 'invalid_scope', 'scope names more than one domain'),
  ],
  [
    'an unknown service',
    { ...good, scope: 'openid catalog:domain catalog:service.web' },
    refusal(404, 'invalid_scope', 'service `catalog.web` does not exist'),
  ],
  [
    'a disabled service',
    { ...good, scope: 'openid catalog:domain catalog:service.off' },
    refusal(404, 'invalid_scope', 'service `catalog.off` does not exist'),
  ],
  [
    'an unknown domain',
    { ...good, scope: 'nowhere:domain' },
    refusal(404, 'invalid_scope', 'domain `nowhere` does not exist'),
  ],
  [
    'a disabled domain',
    { ...good, scope: 'dark:role.reader' },
    refusal(404, 'invalid_scope', 'domain `dark` does not exist'),
  ],
  ['a role that is not held', { ...good, scope: 'catalog:role.editor' }, refusal(403, 'invalid_scope', noRole)],
  ['a role that does not exist', { ...good, scope: 'catalog:role.nothing' }, refusal(403, 'invalid_scope', noRole)],
  [
    'a role that a held one ends with',
    { ...good, scope: 'catalog:role.dbreader' },
    refusal(403, 'invalid_scope', noRole),
  ],
  ...['-1', '7200.5', '2h', '0x10', '1e9', '+5', ' 5', 'NaN'].map(
    (value) =>
      [
        `expires_in ${JSON.stringify(value)}`,
        { ...good, expires_in: value },
        refusal(400, 'invalid_request', 'expires_in must be a number of seconds in digits, such as 3600'),
      ] as const,
  ),
  [
    'a repeated parameter',
    `${goodBody}&scope=short:domain`,
    refusal(400, 'invalid_request', 'a parameter is repeated in the body'),
  ],
  [
    'a repeated unknown parameter',
    `${goodBody}&x=1&x=2`,
    refusal(400, 'invalid_request', 'a parameter is repeated in the body'),
  ],
  [
    'a repeated empty parameter',
    `${goodBody}&x=&x=`,
    refusal(400, 'invalid_request', 'a parameter is repeated in the body'),
  ],
  ['a broken escape', `${goodBody}&x=%zz`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['a cut escape', `${goodBody}&x=%e`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['an escape that is not UTF-8', `${goodBody}&x=%80`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['an overlong escape', `${goodBody}&x=%c0%af`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['bytes that are not ASCII', `${goodBody}&x=\u00e9`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['a line break', `${goodBody}\r\n`, refusal(400, 'invalid_request', 'the body is not form-encoded')],
  ['no body', '', refusal(400, 'invalid_request', 'grant_type is missing')],
  [
    'nested names',
    'grant_type[a]=client_credentials&scope=catalog:domain',
    refusal(400, 'invalid_request', 'a parameter name in the body has brackets: parameters are flat'),
  ],
  [
    'too many parameters',
    `${goodBody}&${Array.from({ length: 1001 }, (_, at) => `p${at}=1`).join('&')}`,
    refusal(400, 'invalid_request', 'the body has more than 64 parameters'),
  ],
  ...['client_assertion', 'client_assertion_type', 'client_secret'].map(
    (name) =>
      [
        `${name} beside the certificate`,
        { ...good, [name]: 'x' },
        refusal(400, 'invalid_request', `\`${name}\` is not accepted beside the client certificate`),
      ] as const,
  ),
  [
    'client_id of somebody else',
    { ...good, client_id: 'media.studio' },
    refusal(401, 'invalid_client', 'client_id is not the principal of the client certificate'),
  ],
];

const errorHeaders = {
  'cache-control': 'no-store',
  pragma: 'no-cache',
  'content-type': 'application/json',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
};

for (const [name, fields, body] of refusals) {
  test(`refused: ${name}`, async (t) => {
    const answer = await asPlayer('/oauth2/token', form(fields));
    t.deepEqual(answer.body, body);
    t.is(answer.status, (answer.body as { code: number }).code);
    t.like(answer.headers, errorHeaders);
  });
}

const badTransport: readonly (readonly [name: string, options: CallOptions, body: object])[] = [
  [
    'JSON',
    { ...form(good), headers: { 'content-type': 'application/json' }, body: JSON.stringify(good) },
    refusal(415, 'invalid_request', 'content type must be `application/x-www-form-urlencoded`'),
  ],
  [
    'multipart',
    { ...form(good), headers: { 'content-type': 'multipart/form-data; boundary=x' } },
    refusal(415, 'invalid_request', 'content type must be `application/x-www-form-urlencoded`'),
  ],
  [
    'text',
    { ...form(good), headers: { 'content-type': 'text/plain' } },
    refusal(415, 'invalid_request', 'content type must be `application/x-www-form-urlencoded`'),
  ],
  [
    'no content type',
    { ...form(good), headers: {} },
    refusal(415, 'invalid_request', 'content type must be `application/x-www-form-urlencoded`'),
  ],
  [
    'another charset',
    { ...form(good), headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-7' } },
    refusal(415, 'invalid_request', 'content type must be `application/x-www-form-urlencoded`'),
  ],
  [
    'gzip',
    { ...form(good), headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' } },
    refusal(415, 'invalid_request', 'a compressed body is not accepted'),
  ],
  [
    'a body of more than 64 KiB',
    form({ ...good, x: 'y'.repeat(65_536) }),
    refusal(413, 'invalid_request', 'the body is too large'),
  ],
  [
    'a body of more than 64 KiB in chunks',
    {
      ...form({ ...good, x: 'y'.repeat(65_536) }),
      headers: { 'content-type': 'application/x-www-form-urlencoded', 'transfer-encoding': 'chunked' },
    },
    refusal(413, 'invalid_request', 'the body is too large'),
  ],
  [
    'basic authentication beside the certificate',
    { ...form(good), headers: { ...form(good).headers, authorization: 'basic eDp5' } },
    refusal(400, 'invalid_request', 'an Authorization header is not accepted beside the client certificate'),
  ],
];

test('a 415 names what is accepted', async (t) => {
  const type = await asPlayer('/oauth2/token', { ...form(good), headers: { 'content-type': 'text/plain' } });
  t.deepEqual([type.status, type.headers['accept']], [415, 'application/x-www-form-urlencoded']);
  const { headers, ...rest } = form(good);
  const coding = await asPlayer('/oauth2/token', { ...rest, headers: { ...headers, 'content-encoding': 'gzip' } });
  t.deepEqual([coding.status, coding.headers['accept-encoding']], [415, 'identity']);
});

const formType = 'application/x-www-form-urlencoded';
const fieldsOfBodies: readonly (readonly [headers: Record<string, string>, status: number])[] = [
  [{ 'content-type': `${formType}\t; charset="UTF-8" ` }, 200],
  [{ 'content-type': `${formType};` }, 200],
  // Blanks of other kinds are none of HTTP (RFC 9110 §5.6.3).
  [{ 'content-type': `${formType}\u00a0` }, 415],
  [{ 'content-type': `${formType};\u00a0charset=utf-8` }, 415],
  [{ 'content-type': `${formType}; charset="utf-8` }, 415],
  [{ 'content-encoding': 'Identity' }, 200],
  [{ 'content-encoding': '' }, 415],
];

for (const [fields, status] of fieldsOfBodies) {
  test(`${status}: ${JSON.stringify(fields)}, with an announced length and without`, async (t) => {
    const { headers, ...rest } = form(good);
    for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
      const answer = await asPlayer('/oauth2/token', { ...rest, headers: { ...headers, ...fields, ...more } });
      t.is(answer.status, status, JSON.stringify(more));
    }
  });
}

const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`;
const second = 'an Authorization header is not accepted beside the client certificate';
const other = 'the Authorization header does not name the principal of the client certificate';

const authorizations: readonly (readonly [header: string, status: number, message?: string])[] = [
  [basic('media.player:'), 200],
  [basic('media.player:').replace('Basic ', 'bAsIc   '), 200],
  [basic('MEDIA.Player:'), 200],
  // Said by other means than Basic: not read.
  ['Bearer x', 200],
  [basic('media.player:x'), 400, second],
  [basic('media.player: '), 400, second],
  [basic('media.player::'), 400, second],
  [basic('media.player'), 400, second],
  [basic(''), 400, second],
  ['Basic', 400, second],
  ['Basic !!!!', 400, second],
  [basic('media.studio:x'), 400, second],
  [basic('media.studio:'), 401, other],
  [basic(':'), 401, other],
  [basic('media.player\0:'), 401, other],
];
for (const [authorization, status, message] of authorizations) {
  test(`Authorization beside the certificate: ${JSON.stringify(authorization)}`, async (t) => {
    const { headers, ...rest } = form(good);
    const answer = await asPlayer('/oauth2/token', { ...rest, headers: { ...headers, authorization } });
    t.is(answer.status, status);
    if (message !== undefined) t.is((answer.body as { message: string }).message, message);
    t.is(answer.headers['www-authenticate'], status === 401 ? 'Basic realm="signet"' : undefined);
  });
}

test('an empty client_secret is none', async (t) => {
  t.is((await asPlayer('/oauth2/token', form({ ...good, client_id: 'media.player', client_secret: '' }))).status, 200);
});

for (const [name, options, body] of badTransport) {
  test(`refused: ${name}`, async (t) => {
    const answer = await caller(t, server, player)('/oauth2/token', options);
    t.deepEqual(answer.body, body);
    t.is(answer.status, (answer.body as { code: number }).code);
    t.like(answer.headers, errorHeaders);
  });
}

for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE', 'PATCH']) {
  test(`refused: ${method}`, async (t) => {
    const answer = await caller(t, server, player)('/oauth2/token', { method });
    t.is(answer.status, 405);
    t.is(answer.headers['allow'], 'POST');
    t.like(answer.headers, errorHeaders);
    const body = refusal(405, 'invalid_request', 'the method is not allowed at this path');
    t.deepEqual(answer.body, method === 'HEAD' ? undefined : body);
  });
}

test('refused: no certificate, before the body counts', async (t) => {
  const answer = await nobody('/oauth2/token', form('nonsense=%zz'));
  t.is(answer.status, 401);
  t.is(answer.headers['www-authenticate'], undefined, 'OAuth clients read the error only without one');
  t.like(answer.headers, errorHeaders);
  t.deepEqual(answer.body, refusal(401, 'invalid_client', 'a client certificate is required'));
  const { headers, ...rest } = form('nonsense=%zz');
  for (const [authorization, challenge] of [
    ['Bearer x', 'ClientCertificate realm="signet"'],
    ['Basic eDp5', 'Basic realm="signet"'],
  ] as const) {
    const again = await nobody('/oauth2/token', { ...rest, headers: { ...headers, authorization } });
    t.deepEqual([again.status, again.headers['www-authenticate']], [401, challenge]);
  }
  t.is((await nobody('/oauth2/keys')).headers['www-authenticate'], 'ClientCertificate realm="signet"');
});

test('refused: headers that claim a certificate', async (t) => {
  const claims = {
    'x-ssl-client-cert': encodeURIComponent(player.certificate),
    'x-forwarded-client-cert': 'Subject="CN=media.player"',
    'client-cert': ':AAAA:',
  };
  const answer = await nobody('/oauth2/token', { ...form(good), headers: { ...form(good).headers, ...claims } });
  t.is(answer.status, 401);
});

test('refused: a principal with no role', async (t) => {
  const answer = await asGuest('/oauth2/token', form(good));
  t.is(answer.status, 403);
  t.deepEqual(answer.body, refusal(403, 'invalid_scope', noRole));
});

test('refused: a role certificate, after what does not exist', async (t) => {
  const answer = await asRole('/oauth2/token', form(good));
  t.is(answer.status, 403);
  t.deepEqual(answer.body, refusal(403, 'unauthorized_client', 'a role certificate cannot be used to get a token'));
  t.is((await asRole('/oauth2/token', form({ ...good, scope: 'nowhere:domain' }))).status, 404);
});

/** The claims of a token, verified by another implementation with the published keys. */
async function verified(token: string) {
  const { body } = await asPlayer('/oauth2/keys?rfc=true');
  const { keys } = body as { keys: JWK[] };
  const key = keys.find(({ kid }) => kid === decodeProtectedHeader(token).kid);
  if (key === undefined) throw new Error('the key is not published');
  return await jwtVerify(token, await importJWK(key, 'ES256'), { currentDate: toDate(clock.now()) });
}

test('a token has exactly the header and claims of the contract', async (t) => {
  const answer = await asStudio('/oauth2/token', form(good));
  t.is(answer.status, 200);
  t.like(answer.headers, errorHeaders);
  const { access_token, ...rest } = answer.body as { access_token: string };
  t.deepEqual(rest as object, {
    token_type: 'Bearer',
    expires_in: 60,
    scope: 'catalog:role.brief catalog:role.editor catalog:role.reader',
  });
  const { protectedHeader, payload } = await verified(access_token);
  const { jti, ...claims } = payload;
  const now = Math.floor(clock.now() / 1000);
  t.deepEqual(protectedHeader, { alg: 'ES256', kid: protectedHeader.kid ?? '', typ: 'at+jwt' });
  t.regex(String(jti), /^[0-9a-f-]{36}$/);
  t.deepEqual(claims, {
    ver: 1,
    iss: server.baseUrl,
    aud: 'catalog',
    sub: 'media.studio',
    uid: 'media.studio',
    client_id: 'media.studio',
    iat: now,
    exp: now + 60,
    auth_time: now,
    scp: ['brief', 'editor', 'reader'],
    scope: 'brief editor reader',
    cnf: { 'x5t#S256': thumbprintOf(studio.certificate) },
  });
});

test('an ID token comes beside the access token, for an hour', async (t) => {
  const scope = 'openid catalog:role.reader catalog:service.api';
  const answer = await asPlayer('/oauth2/token', form({ ...good, scope, expires_in: '60' }));
  const body = answer.body as { id_token: string; expires_in: number; scope: string };
  t.is(body.expires_in, 60);
  t.is(body.scope, 'catalog:role.reader');
  const { protectedHeader, payload } = await verified(body.id_token);
  const now = Math.floor(clock.now() / 1000);
  t.deepEqual(protectedHeader, { alg: 'ES256', kid: protectedHeader.kid ?? '', typ: 'JWT' });
  t.deepEqual(payload, {
    ver: 1,
    iss: server.baseUrl,
    aud: 'catalog.api',
    sub: 'media.player',
    iat: now,
    exp: now + 3600,
    auth_time: now,
  });
});

const granted: readonly (readonly [name: string, fields: Record<string, string>, rest: object])[] = [
  ['default life', {}, { expires_in: 7200, scope: 'catalog:role.reader' }],
  ['expires_in 0', { expires_in: '0' }, { expires_in: 7200 }],
  ['expires_in empty', { expires_in: '' }, { expires_in: 7200 }],
  ['expires_in 1', { expires_in: '1' }, { expires_in: 1 }],
  ['expires_in over the ceiling', { expires_in: '1000000000' }, { expires_in: 7200 }],
  ['expires_in 2^63', { expires_in: '9223372036854775808' }, { expires_in: 7200 }],
  [
    'a longer life, as the domain allows',
    { scope: 'long:domain', expires_in: '2592001' },
    { expires_in: 2_592_000, scope: 'long:role.any' },
  ],
  [
    'the limit of a domain',
    { scope: 'short:domain', expires_in: '3600' },
    { expires_in: 600, scope: 'short:role.any' },
  ],
  ['a partial grant', { scope: 'catalog:role.reader catalog:role.editor' }, { scope: 'catalog:role.reader' }],
  ['capital letters', { scope: 'Catalog:role.READER' }, { scope: 'catalog:role.reader' }],
  ['a name twice', { scope: 'catalog:role.reader catalog:role.reader' }, { scope: 'catalog:role.reader' }],
  ['the client by its name', { client_id: 'media.player' }, { scope: 'catalog:role.reader' }],
  ['an unknown parameter', { something: 'y' }, { scope: 'catalog:role.reader' }],
];

for (const [name, fields, rest] of granted) {
  test(`granted: ${name}`, async (t) => {
    const answer = await asPlayer('/oauth2/token', form({ ...good, ...fields }));
    t.is(answer.status, 200);
    t.like(answer.body, rest);
    t.false(Object.hasOwn(answer.body as object, 'refresh_token'));
  });
}

test('granted: charset=utf-8, and a user by certificate', async (t) => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' };
  t.is((await asPlayer('/oauth2/token', { ...form(good), headers })).status, 200);
  t.is((await asJoe('/oauth2/token', form(good))).status, 200);
});

test('no token, certificate or secret is in the log', async (t) => {
  await asPlayer('/oauth2/token', form(good));
  const basic = { ...form(good).headers, authorization: 'Basic eDp5' };
  await asPlayer('/oauth2/token', { ...form(good), headers: basic });
  const text = JSON.stringify(server.log);
  t.regex(text, /"route":"\/v1\/oauth2\/token"/);
  t.notRegex(text, /eyJ|BEGIN|eDp5/);
});

test('the log names what a token was given for, by which it is found again, and who was refused from where', async (t) => {
  const { body } = await asPlayer('/oauth2/token', form(good));
  const { jti, scp, aud, cnf } = decodeJwt(Object(body).access_token);
  const thumbprint = Object(cnf)['x5t#S256'];
  t.is(typeof thumbprint, 'string');
  t.like(
    server.log.findLast((line) => line['jti'] === jti),
    { status: 200, domain: aud, roles: scp, thumbprint },
  );
  await asPlayer('/oauth2/token', form({ ...good, scope: 'catalog:role.editor' }));
  t.like(
    server.log.findLast(({ msg }) => msg === 'request'),
    { status: 403, principal: 'media.player', address: '127.0.0.1' },
  );
});
