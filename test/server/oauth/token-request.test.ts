import {
  InvalidRequestError,
  InvalidScopeError,
  InvalidTargetError,
  UnsupportedGrantError,
} from '@signet/server/errors';
import { athenzRequests, plainRequests, requestRules } from '@signet/server/oauth/request-rules';
import { parseTokenRequest } from '@signet/server/oauth/token-request';
import test from 'ava';

const form = (fields: Readonly<Record<string, string | undefined>>) =>
  new Map(
    Object.entries({ grant_type: 'client_credentials', scope: 'catalog:domain', ...fields }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
const scope = { kind: 'all-roles', domain: 'catalog' };

const read: readonly (readonly [fields: Readonly<Record<string, string>>, request: object])[] = [
  [{}, { scope }],
  [{ expires_in: '60' }, { scope, expiresInSeconds: 60 }],
  [{ expires_in: '0' }, { scope }],
  [{ expires_in: '000' }, { scope }],
  [{ expires_in: '1' }, { scope, expiresInSeconds: 1 }],
  [{ expires_in: '9'.repeat(40) }, { scope, expiresInSeconds: Number.MAX_SAFE_INTEGER }],
  [{ client_id: 'media.player' }, { scope, clientId: 'media.player' }],
  [{ something: 'else' }, { scope }],
];
for (const [fields, request] of read) {
  test(`reads ${JSON.stringify(fields)}`, (t) => {
    t.deepEqual(parseTokenRequest(form(fields), plainRequests) as object, request);
  });
}

const client = (name: string) => `\`${name}\` is not accepted beside the client certificate`;
const refused: readonly (readonly [
  fields: Readonly<Record<string, string | undefined>>,
  error: new (...args: never) => Error,
  message: string | RegExp,
])[] = [
  [{ client_secret: 'x' }, InvalidRequestError, client('client_secret')],
  [{ client_assertion: 'x' }, InvalidRequestError, client('client_assertion')],
  [{ client_assertion_type: 'x' }, InvalidRequestError, client('client_assertion_type')],
  // Before anything else is looked at.
  [{ client_secret: 'x', grant_type: undefined }, InvalidRequestError, client('client_secret')],
  [{ grant_type: undefined }, InvalidRequestError, 'grant_type is missing'],
  [{ grant_type: 'password' }, UnsupportedGrantError, 'grant_type must be `client_credentials`'],
  [{ grant_type: 'Client_Credentials' }, UnsupportedGrantError, 'grant_type must be `client_credentials`'],
  [{ resource: 'https://films.example' }, InvalidTargetError, /^resource is not supported: name the domain/],
  [{ scope: undefined }, InvalidRequestError, 'scope is missing'],
  [{ scope: 'catalog' }, InvalidScopeError, /^scope holds an item/],
  ...['-1', '1.5', '1e3', ' 60', '60s', '0x10', 'NaN'].map(
    (text) =>
      [
        { expires_in: text },
        InvalidRequestError,
        'expires_in must be a number of seconds in digits, such as 3600',
      ] as const,
  ),
];
for (const [fields, error, message] of refused) {
  test(`refuses ${Object.entries(fields).join(' and ')}`, (t) => {
    t.throws(() => parseTokenRequest(form(fields), plainRequests), { instanceOf: error, message });
  });
}

const proxies = (count: number) => Array.from({ length: count }, (_, index) => `spiffe://a.b/ns/${index}`);
const shapes: readonly (readonly [fields: Readonly<Record<string, string>>, request: object])[] = [
  [{}, { scope }],
  [{ scope: 'CATALOG:DOMAIN', grant_type: 'CLIENT_CREDENTIALS' }, { scope }],
  [
    { scope: 'Catalog:ROLE.Reader OPENID catalog:SERVICE.Api' },
    { scope: { kind: 'roles', domain: 'catalog', idTokenService: 'api', roles: new Set(['reader']) } },
  ],
  [{ role_in_aud_claim: 'true' }, { scope, roleAudience: true }],
  [{ role_in_aud_claim: 'TRUE' }, { scope, roleAudience: true }],
  [{ role_in_aud_claim: 'false', openid_issuer: 'true', something: 'else' }, { scope }],
  [{ proxy_principal_spiffe_uris: proxies(1).join() }, { scope, proxyPrincipals: proxies(1) }],
  [{ proxy_principal_spiffe_uris: proxies(32).join() }, { scope, proxyPrincipals: proxies(32) }],
];
for (const [fields, request] of shapes) {
  test(`athenz: reads ${JSON.stringify(fields).slice(0, 100)}`, (t) => {
    t.deepEqual(parseTokenRequest(form(fields), athenzRequests) as object, request);
  });
}

const notSupported = [
  'actor',
  'actor_token',
  'assertion',
  'audience',
  'authorization_details',
  'claims',
  'dpop_jkt',
  'proxy_for_principal',
  'request',
  'request_uri',
  'requested_token_type',
  'subject_token',
];
for (const [profile, rules] of Object.entries(requestRules)) {
  for (const name of notSupported) {
    test(`${profile}: a token that ${name} would change is refused, and not given without it`, (t) => {
      const message = `\`${name}\` is not supported`;
      t.throws(() => parseTokenRequest(form({ [name]: 'x' }), rules), { name: 'InvalidRequestError', message });
    });
  }
}

for (const name of ['proxy_principal_spiffe_uris', 'role_in_aud_claim']) {
  test(`plain: ${name}, which has an effect in the profile athenz alone, is refused`, (t) => {
    const message = `\`${name}\` is not supported`;
    t.throws(() => parseTokenRequest(form({ [name]: 'true' }), plainRequests), {
      name: 'InvalidRequestError',
      message,
    });
  });
}

const ids = 'proxy_principal_spiffe_uris must be SPIFFE ids with commas between them';
for (const [text, message] of [
  [proxies(33).join(), 'proxy_principal_spiffe_uris has more than 32 ids'],
  ['https://a.b/c', ids],
  ['spiffe://a.b/c,', ids],
  ['spiffe://a.b', ids],
  ['spiffe://a.b/c d', ids],
  [`spiffe://a.b/${'c'.repeat(2036)}`, ids],
] as const) {
  test(`athenz: proxies are refused: ${text.slice(0, 40)}`, (t) => {
    const fields = { proxy_principal_spiffe_uris: text };
    t.throws(() => parseTokenRequest(form(fields), athenzRequests), { name: 'InvalidRequestError', message });
  });
}

test('athenz: what neither says yes nor no is refused', (t) => {
  t.throws(() => parseTokenRequest(form({ role_in_aud_claim: '1' }), athenzRequests), {
    message: 'role_in_aud_claim must be `true` or `false`',
  });
  const longest = `spiffe://a.b/${'c'.repeat(2035)}`;
  const { proxyPrincipals } = parseTokenRequest(form({ proxy_principal_spiffe_uris: longest }), athenzRequests);
  t.deepEqual(proxyPrincipals, [longest]);
});
