import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { maxIssuedTokenLength, maxTokenRoles } from '@signet/policy-engine/token';
import { isTooLargeForToken } from '@signet/server/oauth/token-size';
import test from 'ava';
import { caller, startServer, wholeFile } from '#support/start-server';

/* Tokens that no service could be sent are refused when they are asked for. */

const file = wholeFile();
const roles = (count: number, length: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`r${at}`.padEnd(length, 'x'), ['media.player'] as const]),
  );
const server = await startServer(file, {
  domains: [
    { name: 'media', services: { player: {} } },
    { name: 'small', roles: roles(100, 30) },
    { name: 'long', roles: roles(700, 30) },
    { name: 'many', roles: roles(maxTokenRoles + 1, 1) },
  ],
});
const ask = caller(file, server, await server.pki.identity('media.player'));
test.after.always(() => file.end());

function tokenFor(scope: string) {
  const body = new URLSearchParams({ grant_type: 'client_credentials', scope }).toString();
  return ask('/oauth2/token', { headers: { 'content-type': 'application/x-www-form-urlencoded' }, body });
}

test('a token is as long as services accept, or refused with what to do', async (t) => {
  const service = createServer((request, response) => response.end(String(request.headers.authorization?.length)));
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
  t.teardown(() => service.close());
  const { port } = service.address() as AddressInfo;
  const { status, body } = await tokenFor('small:domain');
  t.is(status, 200);
  const token: string = Object(body).access_token;
  t.true(token.length <= maxIssuedTokenLength);
  const longest = 'x'.repeat(maxIssuedTokenLength);
  const shown = await fetch(`http://127.0.0.1:${port}/`, { headers: { authorization: `Bearer ${longest}` } });
  t.is(await shown.text(), String(maxIssuedTokenLength + 'Bearer '.length), 'Node accepts the longest one');
  for (const [domain, count] of [
    ['long', 700],
    ['many', maxTokenRoles + 1],
  ] as const) {
    const refused = await tokenFor(`${domain}:domain`);
    t.is(refused.status, 400, domain);
    t.like(refused.body, { error: 'invalid_scope' });
    t.regex(
      refused.text,
      new RegExp(`scope asks for a token of ${count} roles, \\d+ characters: services accept at most`),
    );
    const one = Object.keys(domain === 'long' ? roles(1, 30) : roles(1, 1))[0];
    t.is((await tokenFor(`${domain}:role.${one}`)).status, 200, 'one of them by name');
  }
});

test('plans foresee what is refused', (t) => {
  t.false(isTooLargeForToken(Object.keys(roles(100, 30))));
  t.true(isTooLargeForToken(Object.keys(roles(700, 30))));
  t.true(isTooLargeForToken(Object.keys(roles(maxTokenRoles + 1, 1))));
});
