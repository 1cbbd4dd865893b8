import { execFile } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { promisify } from 'node:util';
import type { JwkList } from '@signet/policy-engine/wire';
import test from 'ava';
import { createLocalJWKSet, jwtVerify } from 'jose';
import jsonwebtoken from 'jsonwebtoken';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';
import { Agent, fetch as fetchOver } from 'undici';
import { caller, form, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const server = await startServer(file, {
  domains: [
    { name: 'catalog', roles: { reader: ['media.player'] }, services: { api: {} } },
    { name: 'media', roles: { self: ['media.player'] }, services: { player: {} } },
  ],
});
const { certificate: cert, key } = await server.pki.identity('media.player');
const call = caller(file, server, { certificate: cert, key });
const dispatcher = new Agent({ connect: { cert, key, ca: server.pki.bundle } });
file.teardown(() => dispatcher.close());
test.after.always(() => file.end());

interface FetchOptions {
  method?: string;
  headers?: unknown;
  body?: unknown;
}

/** `fetch` as the standard clients take it. */
const fetchThrough = (dispatcher: Agent) => async (url: string, options?: FetchOptions) => {
  const { method = 'GET', body } = options ?? {};
  const headers = Object.fromEntries(new Headers(options?.headers as Record<string, string>).entries());
  const answer = await fetchOver(url, { method, headers, dispatcher, ...(body != null && { body: String(body) }) });
  return new Response(answer.status === 304 ? null : await answer.text(), {
    status: answer.status,
    headers: Object.fromEntries(answer.headers.entries()),
  });
};
const withCertificate = fetchThrough(dispatcher);

const metadata = {
  issuer: server.baseUrl,
  token_endpoint: `${server.baseUrl}/oauth2/token`,
  jwks_uri: `${server.baseUrl}/oauth2/keys?rfc=true`,
  grant_types_supported: ['client_credentials'],
  response_types_supported: ['none'],
  scopes_supported: ['openid'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256'],
  token_endpoint_auth_methods_supported: ['tls_client_auth'],
  tls_client_certificate_bound_access_tokens: true,
  mtls_endpoint_aliases: { token_endpoint: `${server.baseUrl}/oauth2/token` },
};

for (const path of [
  '/.well-known/oauth-authorization-server',
  '/.well-known/openid-configuration',
  '^/.well-known/oauth-authorization-server/v1',
  '^/.well-known/openid-configuration/v1',
  '/.well-known/openid-configuration?x=y',
]) {
  test(`metadata at ${path}`, async (t) => {
    const answer = await call(path);
    t.is(answer.status, 200);
    t.deepEqual(answer.body, metadata);
    t.like(answer.headers, { 'content-type': 'application/json', 'cache-control': 'max-age=300' });
  });
}

test('an issuer of its own is found where RFC 8414 looks for it', async (t) => {
  const own = await startServer(t, { options: { issuer: 'https://issuer.example/tenant/', anonymousKeys: true } });
  const ask = caller(t, own);
  for (const path of ['^/.well-known/oauth-authorization-server/tenant', '^/tenant/.well-known/openid-configuration']) {
    t.like((await ask(path)).body, {
      issuer: 'https://issuer.example/tenant/',
      token_endpoint: `${own.baseUrl}/oauth2/token`,
    });
  }
});

test('a JWK set, and what is cached by its entity tag', async (t) => {
  const set = await call('/.well-known/jwks.json');
  t.deepEqual(set.body, (await call('/oauth2/keys?rfc=true')).body);
  const tags = new Set<unknown>();
  for (const path of [
    '/.well-known/jwks.json',
    '/oauth2/keys?rfc=true',
    '/oauth2/keys',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
  ]) {
    const etag = (await call(path)).headers['etag'];
    t.regex(String(etag), /^"[\w-]{27}"$/);
    tags.add(etag);
    for (const known of [String(etag), `W/${etag}`, `"other", ${etag}`, '*']) {
      const answer = await call(path, { headers: { 'if-none-match': known } });
      t.deepEqual([answer.status, answer.text, answer.headers['etag']], [304, '', etag]);
      t.is(answer.headers['cache-control'], 'max-age=300');
    }
    t.is((await call(path, { headers: { 'if-none-match': '"other"' } })).status, 200);
  }
  t.is(tags.size, 3, 'two forms of the keys, and the metadata');
});

const forAnyone = 'a client certificate is required here unless the operator of the server sets `anonymousKeys: true`';

test('strangers read keys and metadata only where they may', async (t) => {
  for (const [anonymousKeys, status] of [
    [true, 200],
    [false, 401],
  ] as const) {
    const own = await startServer(t, { options: { anonymousKeys } });
    const ask = caller(t, own);
    for (const path of [
      ...['/.well-known/jwks.json', '/oauth2/keys', '/oauth2/keys?rfc=true', '/.well-known/oauth-authorization-server'],
      ...['/.well-known/openid-configuration', '^/.well-known/oauth-authorization-server/v1', '/openapi.json'],
    ]) {
      const answer = await ask(path);
      t.is(answer.status, status, path);
      if (status === 401) t.deepEqual(answer.body, { code: 401, message: forAnyone }, path);
    }
    // The option opens nothing else, so nothing else speaks of it.
    for (const path of ['/access/read?resource=catalog:x', '/domain/catalog/policy/signed', '/nothing']) {
      t.deepEqual((await ask(path)).body, { code: 401, message: 'a client certificate is required' }, path);
    }
  }
});

for (const algorithm of ['oauth2', 'oidc'] as const) {
  test(`oauth4webapi: ${algorithm} discovery, tls_client_auth, token`, async (t) => {
    const issuer = new URL(server.baseUrl);
    const options = { [oauth.customFetch]: withCertificate };
    const found = await oauth.discoveryRequest(issuer, { algorithm, ...options });
    const as = await oauth.processDiscoveryResponse(issuer, found);
    const self = { client_id: 'media.player', use_mtls_endpoint_aliases: true };
    const parameters = new URLSearchParams({ scope: 'catalog:role.reader' });
    const answer = await oauth.clientCredentialsGrantRequest(as, self, oauth.TlsClientAuth(), parameters, options);
    const token = await oauth.processClientCredentialsResponse(as, self, answer);
    t.like(token, { token_type: 'bearer', scope: 'catalog:role.reader', expires_in: 7200 });
  });
}

test('oauth4webapi validates a token that is not bound to a certificate', async (t) => {
  const own = await startServer(t, {
    pki: server.pki,
    options: { 'tokens.bound': false },
    domains: [
      { name: 'catalog', roles: { reader: ['media.player'] } },
      { name: 'media', services: { player: {} } },
    ],
  });
  const ask = caller(t, own, { certificate: cert, key });
  const answer = await ask('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }));
  const { access_token: token } = answer.body as { access_token: string };
  const as = { issuer: own.baseUrl, jwks_uri: `${own.baseUrl}/oauth2/keys?rfc=true` };
  const request = new Request('https://api.example/movie', { headers: { authorization: `Bearer ${token}` } });
  const claims = await oauth.validateJwtAccessToken(as, request, 'catalog', { [oauth.customFetch]: withCertificate });
  t.like(claims, { sub: 'media.player', cnf: undefined });
});

test('oauth4webapi reads invalid_client of a wrong client_id, and of no certificate', async (t) => {
  const as = { issuer: server.baseUrl, token_endpoint: `${server.baseUrl}/oauth2/token` };
  const parameters = () => new URLSearchParams({ scope: 'catalog:domain' });
  const stranger = new Agent({ connect: { ca: server.pki.bundle } });
  t.teardown(() => stranger.close());
  for (const [clientId, over] of [
    ['media.studio', dispatcher],
    ['media.player', stranger],
  ] as const) {
    const self = { client_id: clientId };
    const options = { [oauth.customFetch]: fetchThrough(over) };
    const answer = await oauth.clientCredentialsGrantRequest(as, self, oauth.TlsClientAuth(), parameters(), options);
    const error = await t.throwsAsync(oauth.processClientCredentialsResponse(as, self, answer), {
      instanceOf: oauth.ResponseBodyError,
    });
    t.like(error, { error: 'invalid_client', status: 401 });
  }
});

test('oauth4webapi understands a refusal', async (t) => {
  const as = { issuer: server.baseUrl, token_endpoint: `${server.baseUrl}/oauth2/token` };
  const self = { client_id: 'media.player' };
  const answer = await oauth.clientCredentialsGrantRequest(
    as,
    self,
    oauth.TlsClientAuth(),
    new URLSearchParams({ scope: 'nowhere:domain' }),
    {
      [oauth.customFetch]: withCertificate,
    },
  );
  const error = await t.throwsAsync(oauth.processClientCredentialsResponse(as, self, answer), {
    instanceOf: oauth.ResponseBodyError,
  });
  t.deepEqual([error?.status, error?.error], [404, 'invalid_scope']);
});

test('openid-client: discovery, a token, and an ID token for itself', async (t) => {
  const config = await client.discovery(new URL(server.baseUrl), 'media.player', undefined, client.TlsClientAuth(), {
    [client.customFetch]: withCertificate,
  });
  const token = await client.clientCredentialsGrant(config, { scope: 'openid media:domain media:service.player' });
  t.like(token, { token_type: 'bearer', scope: 'media:role.self' });
  t.like(token.claims(), { aud: 'media.player', sub: 'media.player' });
});

test('jose, jsonwebtoken and PyJWT verify a token with the published keys', async (t) => {
  const answer = await call('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:domain' }));
  const { access_token: token } = answer.body as { access_token: string };
  const keys = (await call('/oauth2/keys?rfc=true')).body as JwkList;
  const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: keys.keys.map((jwk) => ({ ...jwk })) }), {
    issuer: server.baseUrl,
    audience: 'catalog',
    typ: 'at+jwt',
    requiredClaims: ['exp', 'jti'],
  });
  const jwk = keys.keys.find(({ purpose }) => purpose === 'token');
  if (jwk === undefined) return t.fail();
  const pem = createPublicKey({ key: { ...jwk }, format: 'jwk' })
    .export({ format: 'pem', type: 'spki' })
    .toString();
  t.deepEqual<unknown, unknown>(
    jsonwebtoken.verify(token, pem, { algorithms: ['ES256'], audience: 'catalog' }),
    payload,
  );
  const script = `
import json, sys, jwt
given = json.load(sys.stdin)
key = next(k for k in jwt.PyJWKSet.from_dict(given["jwks"]).keys if k.key_id == jwt.get_unverified_header(given["token"])["kid"])
print(json.dumps(jwt.decode(given["token"], key.key, algorithms=["ES256"], audience="catalog", options={"require": ["exp", "iat"]})))`;
  const python = promisify(execFile)('/usr/bin/python3', ['-c', script]);
  python.child.stdin?.end(JSON.stringify({ token, jwks: keys }));
  const verified = await python.then(
    ({ stdout }) => JSON.parse(stdout),
    (error: Error) => (/No module named|ENOENT/.test(error.message) ? undefined : Promise.reject(error)),
  );
  if (verified === undefined) return t.log('PyJWT is not installed here');
  t.deepEqual(verified, payload);
});

test('keys carry old curve names unless the RFC names are asked for', async (t) => {
  const curves = async (query: string) =>
    ((await call(`/oauth2/keys${query}`)).body as JwkList).keys.map(({ crv }) => crv);
  t.deepEqual(await curves(''), Array(4).fill('prime256v1'));
  t.deepEqual(await curves('?rfc=false'), Array(4).fill('prime256v1'));
  t.deepEqual(await curves('?rfc=true'), Array(4).fill('P-256'));
  t.is((await call('/oauth2/keys')).headers['cache-control'], 'max-age=300');
  const members = ((await call('/oauth2/keys')).body as JwkList).keys.map((jwk) => Object.keys(jwk).sort());
  for (const names of members) t.deepEqual(names, ['alg', 'crv', 'kid', 'kty', 'purpose', 'use', 'x', 'y']);
});
