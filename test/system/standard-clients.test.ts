import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import test from 'ava';
import * as jose from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { Agent, fetch as mutualFetch } from 'undici';
import { type DevWorld, startDevWorld } from '#support/dev-world';
import { runProgram } from '#support/run-program';

/* Software that knows nothing of Signet: clients that follow the metadata, and libraries that verify tokens with the published keys. */

let world: DevWorld;
let agent: Agent;

test.before(async () => {
  world = await startDevWorld();
  const { cert = '', key = '' } = world.state.identities['media.player'] ?? {};
  const connect = { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(world.state.caBundle) };
  agent = new Agent({ connect });
});

test.after.always(async () => {
  await agent?.close();
  await world?.remove();
});

/** `fetch` with the certificate of media.player. */
async function asPlayer(
  url: string,
  init: { method?: string; headers?: ConstructorParameters<typeof Headers>[0]; body?: unknown } = {},
): Promise<Response> {
  const { method = 'GET', headers, body } = init;
  const sent = body === undefined || body === null ? {} : { body: String(body) };
  const answer = await mutualFetch(url, {
    method,
    headers: Object.fromEntries(new Headers(headers)),
    redirect: 'manual',
    dispatcher: agent,
    ...sent,
  });
  return new Response(await answer.arrayBuffer(), { status: answer.status, headers: [...answer.headers] });
}

async function tokenAndKeys(): Promise<{ token: string; keys: jose.JSONWebKeySet; issuer: string }> {
  const { baseUrl } = world.state;
  const body = 'grant_type=client_credentials&scope=catalog:domain openid catalog:service.api';
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await json(`${baseUrl}/oauth2/token`, { method: 'POST', headers, body });
  const metadata = await json(`${baseUrl}/.well-known/oauth-authorization-server`);
  const { keys } = await json(String(metadata['jwks_uri']));
  const token = String(answer['access_token']);
  return { token, keys: { keys: keys as jose.JWK[] }, issuer: String(metadata['issuer']) };
}

async function json(...request: Parameters<typeof asPlayer>): Promise<Readonly<Record<string, unknown>>> {
  return (await (await asPlayer(...request)).json()) as Record<string, unknown>;
}

test('jose verifies a token with the keys that the metadata point to', async (t) => {
  const { token, keys, issuer } = await tokenAndKeys();
  const { payload } = await jose.jwtVerify(token, jose.createLocalJWKSet(keys), {
    issuer,
    audience: 'catalog',
    typ: 'at+jwt',
    algorithms: ['ES256'],
  });
  t.like(payload, { sub: 'media.player', client_id: 'media.player', scp: ['reader'] });
});

const verifyInNode = `
const { createPublicKey } = require('node:crypto');
const jsonwebtoken = require('jsonwebtoken');
let text = '';
process.stdin.on('data', (chunk) => { text += chunk; }).on('end', () => {
  const { token, jwk, issuer } = JSON.parse(text);
  const key = createPublicKey({ key: jwk, format: 'jwk' });
  console.log(jsonwebtoken.verify(token, key, { algorithms: ['ES256'], issuer, audience: 'catalog' }).sub);
});`;

const verifyInPython = `
import json, sys, jwt
given = json.load(sys.stdin)
key = jwt.algorithms.ECAlgorithm.from_jwk(json.dumps(given['jwk']))
print(jwt.decode(given['token'], key, algorithms=['ES256'], issuer=given['issuer'], audience='catalog')['sub'])`;

for (const [name, program, args, needs] of [
  ['jsonwebtoken', process.execPath, ['-e', verifyInNode], ['-e', 'require("jsonwebtoken")']],
  ['PyJWT', '/usr/bin/python3', ['-c', verifyInPython], ['-c', 'import jwt, cryptography']],
] as const) {
  test(`${name} verifies a token, and refuses one that was changed`, async (t) => {
    const cwd = createRequire(import.meta.url)
      .resolve('../package.json')
      .replace(/package\.json$/, '');
    const there = await runProgram(program, needs, { cwd }).catch(() => undefined);
    if (there?.status !== 0) {
      t.log(`${name} is not installed here: not tried`);
      t.pass();
      return;
    }
    const { token, keys, issuer } = await tokenAndKeys();
    const { kid } = jose.decodeProtectedHeader(token);
    const jwk = keys.keys.find((key) => key.kid === kid);
    const good = await runProgram(program, args, { cwd, input: JSON.stringify({ token, jwk, issuer }) });
    t.deepEqual({ status: good.status, stdout: good.stdout.trim() }, { status: 0, stdout: 'media.player' });
    const [header, claims, signature] = token.split('.');
    const changed = `${header}.${Buffer.from(`${Buffer.from(claims ?? '', 'base64url')} `).toString('base64url')}.${signature}`;
    const bad = await runProgram(program, args, { cwd, input: JSON.stringify({ token: changed, jwk, issuer }) });
    t.not(bad.status, 0);
  });
}

test('oauth4webapi gets a token by discovery and tls_client_auth', async (t) => {
  const issuer = new URL(world.state.baseUrl);
  const options = { [oauth.customFetch]: asPlayer };
  const discovered = await oauth.discoveryRequest(issuer, { ...options, algorithm: 'oauth2' });
  const server = await oauth.processDiscoveryResponse(issuer, discovered);
  const client = { client_id: 'media.player' };
  const parameters = new URLSearchParams({ scope: 'catalog:role.reader' });
  const answer = await oauth.clientCredentialsGrantRequest(server, client, oauth.TlsClientAuth(), parameters, options);
  const { access_token, ...rest } = await oauth.processClientCredentialsResponse(server, client, answer);
  t.like(rest, { token_type: 'bearer', expires_in: 7200, scope: 'catalog:role.reader' });
  t.is(jose.decodeJwt(access_token).aud, 'catalog');
});

test('oauth4webapi understands a refusal', async (t) => {
  const issuer = new URL(world.state.baseUrl);
  const options = { [oauth.customFetch]: asPlayer };
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, options));
  const client = { client_id: 'media.player' };
  const parameters = new URLSearchParams({ scope: 'nothing:domain' });
  const answer = await oauth.clientCredentialsGrantRequest(server, client, oauth.TlsClientAuth(), parameters, options);
  const error = await t.throwsAsync(oauth.processClientCredentialsResponse(server, client, answer), {
    instanceOf: oauth.ResponseBodyError,
  });
  t.like(error, { error: 'invalid_scope', status: 404 });
});

test('openid-client gets a token by discovery and tls_client_auth', async (t) => {
  const config = await openid.discovery(new URL(world.state.baseUrl), 'media.player', {}, openid.TlsClientAuth(), {
    [openid.customFetch]: asPlayer,
  });
  const answer = await openid.clientCredentialsGrant(config, { scope: 'catalog:domain' });
  t.like(answer, { token_type: 'bearer', scope: 'catalog:role.reader' });
});
