import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogin, type LoginIssuer } from '@signet/client';
import { askIssuer } from '@signet/server/cli/login/ask-issuer';
import { loginNonce } from '@signet/server/people/login-nonce';
import test from 'ava';
import { decodeJwt } from 'jose';
import { signetScript } from '#support/dev-world';
import { startOidcIssuer } from '#support/oidc-issuer';
import { createPki } from '#support/pki';
import { runSignet } from '#support/run-signet';
import { startServer, type TestServerOptions, wholeFile } from '#support/start-server';

/* `signet login` at a real issuer (oidc-provider), with a browser that follows redirects. */

const file = wholeFile();
const pki = await createPki();
const claims = { email: 'jane.doe@example.com', email_verified: true };
const people = await startOidcIssuer(file, pki, { claims });
const { issuer, clientId } = people;
const domains = [
  { name: 'sys.auth', services: { server: {} } },
  { name: 'media', roles: { reader: ['user.jane', 'user.jane_doe'] } },
] as const satisfies TestServerOptions['domains'];
const world = await startServer(file, { domains, pki });
const at = (name: string) => join(world.folder, name);
const trusting = async (names: object) =>
  startServer(file, {
    domains,
    pki,
    options: { 'people.issuers': [{ issuer, clientId, ca: at('bundle.pem'), ...names }] },
  });
const byTable = await trusting({ subjects: { 'account-jane': 'user.jane' } });
const byMail = await trusting({ claim: 'email', emailDomain: 'example.com', scopes: ['email'] });
test.after.always(() => file.end());

/** `signet login` until it ends; `act` gets the address that it prints. */
async function signetLogin(args: readonly string[], act: (address: string) => Promise<unknown>) {
  const child = spawn(process.execPath, [signetScript, 'login', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const texts = { stdout: '', stderr: '' };
  let acting: Promise<unknown> | undefined;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    texts.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    texts.stderr += text;
    const [, address] = /^(https:\S+)\n/m.exec(texts.stderr) ?? [];
    if (address === undefined) return;
    acting ??= act(address).catch((error) => {
      child.kill();
      throw error;
    });
  });
  const [status] = await once(child, 'close');
  await acting;
  return { status: Number(status), ...texts };
}

test('a person logs in, and calls with the folder that the login wrote; the next login replaces the certificate', async (t) => {
  const folder = at('jane');
  const known = ['--url', byTable.baseUrl, '--ca', at('bundle.pem')];
  const args = ['--out', folder, '--issuer-ca', at('bundle.pem'), '--json'];
  const log = async (address: string) => {
    const asked = new URL(address).searchParams;
    t.is(asked.get('code_challenge_method'), 'S256');
    const answer = await people.browse(address, 'account-jane');
    // Pages of the same browser and other programs find the port, and change nothing.
    const { origin } = new URL(answer);
    const state = asked.get('state');
    const ignored = ['/', '/callback', '/callback?code=x&state=y', `/callback?state=${state}&state=${state}`];
    for (const path of ignored) t.is((await fetch(`${origin}${path}`)).status, 404);
    t.is((await fetch(answer, { method: 'POST' })).status, 404);
    const page = await fetch(answer);
    t.is(page.status, 200);
    t.is(page.headers.get('content-security-policy'), "default-src 'none'");
    await t.throwsAsync(fetch(answer), undefined, 'the listener is gone');
  };
  const first = await signetLogin([...known, ...args], log);
  t.is(first.status, 0, first.stderr);
  t.like(JSON.parse(first.stdout), { principal: 'user.jane', config: join(folder, 'client.yaml') });
  t.is(statSync(join(folder, 'key.pem')).mode & 0o777, 0o600);
  const before = readFileSync(join(folder, 'cert.pem'), 'utf8');
  const config = ['--config', join(folder, 'client.yaml')];
  const roles = await runSignet('roles', 'list', '--domain', 'media', ...config);
  t.deepEqual([roles.status, roles.stdout, roles.stderr], [0, 'reader\n', '']);
  // It knows the server from the login before.
  const second = await signetLogin(args, log);
  t.is(second.status, 0, second.stderr);
  t.not(readFileSync(join(folder, 'cert.pem'), 'utf8'), before);
  const records = await byTable.store.audit({ subject: 'user.jane', limit: 5 });
  t.deepEqual(
    records.map(({ actor, after = '' }) => [actor, JSON.parse(after).login]),
    Array.from({ length: 2 }, () => ['user.jane', { issuer, subject: 'account-jane' }]),
  );
});

test('files that no login made are not replaced, and a server without an issuer says so', async (t) => {
  writeFileSync(at('key.pem'), 'mine');
  const known = ['--url', world.baseUrl, '--ca', at('bundle.pem')];
  const refused = await signetLogin([...known, '--out', world.folder], async () => t.fail());
  t.is(refused.status, 1);
  t.regex(refused.stderr, /key\.pem` exists: use `--force` to write over it/);
  const none = await signetLogin([...known, '--out', at('none')], async () => t.fail());
  t.deepEqual([none.status, none.stdout], [2, '']);
  t.is(none.stderr, 'signet: login is not configured on this server (`people.issuers`)\n');
});

/** Logs in within this process; returns the principal of the certificate. */
async function logIn(server: { readonly baseUrl: string }, account?: string, more: { nonceOfOther?: boolean } = {}) {
  const login = await createLogin({ baseUrl: server.baseUrl, caBundle: pki.bundle });
  const other = await createLogin({ baseUrl: server.baseUrl, caBundle: pki.bundle });
  const [known] = await login.issuers();
  const salt = Buffer.alloc(32, 7).toString('base64url');
  const { publicKey } = more.nonceOfOther === true ? other : login;
  const idToken = await ask(known, loginNonce(salt, publicKey), account);
  const { principal } = await login.certificate({ issuer, idToken, salt });
  return { principal, idToken };
}

function ask(known: LoginIssuer = { issuer, clientId, scopes: [] }, nonce = 'n', account?: string, bring = followed) {
  const ending = new AbortController();
  // A browser that gets nowhere ends the wait.
  const show = (address: string) =>
    void people
      .browse(address, account)
      .then(bring)
      .catch((error) => ending.abort(error));
  const signal = ending.signal;
  return askIssuer({ issuer: known, nonce, ca: pki.bundle, clientSecret: undefined, show, signal });
}

const followed = (answer: string) => fetch(answer);

test('a verified mail address of a listed domain names the person', async (t) => {
  const { principal, idToken } = await logIn(byMail, 'account-1');
  t.is(principal, 'user.jane_doe');
  t.like(decodeJwt(idToken), { iss: issuer, aud: clientId, sub: 'account-1', ...claims });
});

test('a token of the issuer is refused for another key, and for a person whom nobody has named', async (t) => {
  const message = /the server answered 401: idToken is a token that was made for another key$/;
  await t.throwsAsync(logIn(byTable, 'account-jane', { nonceOfOther: true }), { message });
  await t.throwsAsync(logIn(byTable, 'account-joe'), { message: /the server answered 403: `account-joe` of / });
});

test('an issuer that says no is quoted', async (t) => {
  const message = `the issuer \`${issuer}\`: it answered \`access_denied\`: the person said no`;
  await t.throwsAsync(ask(), { message });
});

const changes: readonly (readonly [note: string, change: (answer: URL) => void, message: RegExp])[] = [
  ['another issuer', (answer) => answer.searchParams.set('iss', 'https://evil.example'), /iss/],
  ['no issuer, though it always states it', (answer) => answer.searchParams.delete('iss'), /iss/],
  ['a code that it did not give', (answer) => answer.searchParams.set('code', 'stolen'), /invalid_grant/],
];
for (const [note, change, message] of changes) {
  test(`an answer with ${note} gives no token`, async (t) => {
    const bring = (text: string) => {
      const answer = new URL(text);
      change(answer);
      return fetch(answer);
    };
    await t.throwsAsync(ask(undefined, 'n', 'account-jane', bring), { message });
  });
}

const wellKnown = '/.well-known/openid-configuration';
const documents: readonly (readonly [note: string, document: (own: string) => unknown, message: RegExp])[] = [
  ['of another issuer', (own) => ({ ...basic(own), issuer: 'https://evil.example' }), /issuer/],
  [
    'without PKCE',
    (own) => ({ ...basic(own), code_challenge_methods_supported: ['plain'] }),
    /it does not support PKCE with S256$/,
  ],
  [
    'whose authorization endpoint is no web address',
    (own) => ({ ...basic(own), authorization_endpoint: 'file:///etc/passwd' }),
    /only requests to HTTPS are allowed$/,
  ],
  ['that is too long', (own) => ({ ...basic(own), filler: 'a'.repeat(300_000) }), /./],
];
const basic = (own: string) => ({ issuer: own, authorization_endpoint: `${own}/auth`, token_endpoint: `${own}/token` });
for (const [note, document, message] of documents) {
  test(`a document ${note} is not believed`, async (t) => {
    const odd = await startOidcIssuer(t, pki, { answers: { [wellKnown]: document } });
    const known = { issuer: odd.issuer, clientId, scopes: [] };
    const show = () => t.fail('nobody is sent anywhere');
    const { signal } = new AbortController();
    await t.throwsAsync(
      askIssuer({ issuer: known, nonce: 'n', ca: pki.bundle, clientSecret: undefined, show, signal }),
      {
        message,
      },
    );
  });
}

test('who does not log in in time is told so', async (t) => {
  const known = { issuer, clientId, scopes: [] };
  const ending = new AbortController();
  const show = () => ending.abort(new DOMException('late', 'TimeoutError'));
  const asked = { issuer: known, nonce: 'n', ca: pki.bundle, clientSecret: undefined, show, signal: ending.signal };
  await t.throwsAsync(askIssuer(asked), { message: 'the login was not completed within `--timeout`' });
});
