import test from 'ava';
import { type ProviderRequest, startProvider, type TestProvider } from '#support/start-provider';

/* The decentralized pattern, on both of its paths: what is sent, and what comes back. */

const refused = { code: 403, message: 'access is not granted' };

interface Case {
  readonly name: string;
  readonly request: (provider: TestProvider) => Promise<Partial<ProviderRequest>>;
  readonly status: number;
  readonly body: unknown;
  readonly challenge?: string;
  /** Reason of the refusal in the log. */
  readonly reason?: string;
}

/** A request of `media.player` with a token for these roles, bound to its certificate. */
function withToken(roles: readonly string[], token: { domain?: string; expiresInSeconds?: number } = {}) {
  return async ({ authority }: TestProvider) => {
    const as = authority.certificate('media.player');
    const input = { domain: 'catalog', roles, principal: 'media.player', certificate: as, ...token };
    return { as, headers: { authorization: `Bearer ${await authority.token(input)}` } };
  };
}

const cases: readonly Case[] = [
  {
    name: 'a reader reads',
    request: withToken(['reader']),
    status: 200,
    body: { titles: ['The Third Man', 'Ran'] },
  },
  {
    name: 'the token in Svc-Role-Auth',
    request: async (provider) => {
      const { as, headers } = await withToken(['reader'])(provider);
      return { as, headers: { 'svc-role-auth': headers.authorization } };
    },
    status: 200,
    body: { titles: ['The Third Man', 'Ran'] },
  },
  {
    name: 'the token in Athenz-Role-Auth',
    request: async (provider) => {
      const { as, headers } = await withToken(['reader'])(provider);
      return { as, headers: { 'athenz-role-auth': headers.authorization } };
    },
    status: 200,
    body: { titles: ['The Third Man', 'Ran'] },
  },
  {
    name: 'the same token in both headers, the scheme word in capitals',
    request: async (provider) => {
      const { as, headers } = await withToken(['reader'])(provider);
      return { as, headers: { ...headers, 'svc-role-auth': headers.authorization.replace('Bearer', 'BEARER') } };
    },
    status: 200,
    body: { titles: ['The Third Man', 'Ran'] },
  },
  {
    name: 'different tokens in both headers',
    request: async (provider) => {
      const { as, headers } = await withToken(['reader'])(provider);
      return {
        as,
        headers: { ...headers, 'svc-role-auth': (await withToken(['reader'])(provider)).headers.authorization },
      };
    },
    status: 403,
    body: { code: 403, message: 'more than one access token was sent' },
    challenge: 'Bearer error="invalid_request", error_description="more than one access token was sent"',
    reason: 'several tokens',
  },
  {
    name: 'no token',
    request: async ({ authority }) => ({ as: authority.certificate('media.player') }),
    status: 403,
    body: { code: 403, message: 'an access token is required' },
    challenge: 'Bearer',
    reason: 'no token',
  },
  {
    name: 'an empty header',
    request: async () => ({ headers: { authorization: 'Bearer ' } }),
    status: 403,
    body: { code: 403, message: 'an access token is required' },
    challenge: 'Bearer',
    reason: 'no token',
  },
  {
    name: 'credentials of another scheme',
    request: async () => ({ headers: { authorization: 'Basic dXNlcjpwYXNz' } }),
    status: 403,
    body: { code: 403, message: 'an access token is required' },
    challenge: 'Bearer',
    reason: 'no token',
  },
  {
    name: 'no token at all, but text',
    request: async () => ({ headers: { authorization: 'Bearer dXNlcjpwYXNz' } }),
    status: 403,
    body: refused,
    challenge: 'Bearer error="invalid_token", error_description="access is not granted"',
    reason: 'DENY_TOKEN_INVALID',
  },
  {
    name: 'an expired token',
    request: withToken(['reader'], { expiresInSeconds: -1 }),
    status: 403,
    body: refused,
    challenge: 'Bearer error="invalid_token", error_description="access is not granted"',
    reason: 'DENY_TOKEN_EXPIRED',
  },
  {
    name: 'a token for another domain',
    request: withToken(['reader'], { domain: 'media' }),
    status: 403,
    body: refused,
    challenge: 'Bearer error="invalid_token", error_description="access is not granted"',
    reason: 'DENY_DOMAIN_MISMATCH',
  },
  {
    name: 'a role that has no rule here',
    request: withToken(['editor']),
    status: 403,
    body: refused,
    challenge: 'Bearer error="insufficient_scope", error_description="access is not granted"',
    reason: 'DENY_NO_MATCH',
  },
  {
    name: 'a role that is denied',
    request: withToken(['reader', 'banned']),
    status: 403,
    body: refused,
    challenge: 'Bearer error="insufficient_scope", error_description="access is not granted"',
    reason: 'DENY',
  },
  {
    name: 'the certificate of somebody else',
    request: async (provider) => {
      const { headers } = await withToken(['reader'])(provider);
      return { as: provider.authority.certificate('media.studio'), headers };
    },
    status: 403,
    body: refused,
    challenge: 'Bearer error="invalid_token", error_description="access is not granted"',
    reason: 'DENY_CERT_HASH_MISMATCH',
  },
  {
    name: 'no certificate',
    request: async (provider) => ({ headers: (await withToken(['reader'])(provider)).headers }),
    status: 403,
    body: { code: 403, message: 'the request came without a client certificate' },
    challenge: 'Bearer error="invalid_token", error_description="the request came without a client certificate"',
    reason: 'DENY_CERT_HASH_MISMATCH',
  },
];

for (const path of ['/movie', '/local/movie']) {
  for (const { name, request, status, body, challenge, reason } of cases) {
    test(`GET ${path}: ${name}`, async (t) => {
      const provider = await startProvider(t);
      const answer = await provider.send({ path, ...(await request(provider)) });
      t.deepEqual(
        { status: answer.status, body: answer.body, challenge: answer.headers['www-authenticate'] },
        { status, body, challenge },
      );
      t.like(answer.headers, { 'content-type': 'application/json; charset=utf-8' });
      const lines = provider.log.map((line) => ({
        event: line['event'],
        reason: line['reason'],
        status: line['status'],
      }));
      t.deepEqual(lines, reason === undefined ? [] : [{ event: 'refused', reason, status: 403 }]);
    });
  }
}

test('a certificate of another authority is none', async (t) => {
  const provider = await startProvider(t);
  const other = await startProvider(t);
  const as = other.authority.certificate('media.player');
  const token = await provider.authority.token({ domain: 'catalog', roles: ['reader'], certificate: as });
  const answer = await provider.send({ path: '/movie', as, headers: { authorization: `Bearer ${token}` } });
  const message = 'the client certificate of the request is not valid here';
  t.deepEqual({ status: answer.status, body: answer.body }, { status: 403, body: { code: 403, message } });
});

test('a certificate past its end is none, whatever the TLS layer said when the connection began', async (t) => {
  const provider = await startProvider(t);
  const as = provider.authority.certificate('media.player', 3_600_000);
  const token = await provider.authority.token({
    domain: 'catalog',
    roles: ['reader'],
    certificate: as,
    expiresInSeconds: 9000,
  });
  const request = { path: '/movie', as, headers: { authorization: `Bearer ${token}` } };
  t.is((await provider.send(request)).status, 200);
  provider.authority.clock.advance(3_600_001);
  t.is((await provider.send(request)).status, 403);
});
