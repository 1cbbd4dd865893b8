import type { PrincipalName, RoleName } from '@signet/policy-engine/names';
import { accessTokenClaims } from '@signet/server/oauth/claims';
import test from 'ava';

type Facts = Parameters<typeof accessTokenClaims>[0];

const facts: Facts = {
  issuer: 'https://localhost:4443/v1',
  principal: 'media.player' as PrincipalName,
  audience: 'catalog',
  roles: ['editor', 'reader'] as RoleName[],
  now: 1_000,
  lifeSeconds: 60,
  tokenId: '00000000-0000-4000-8000-000000000000',
  thumbprint: 'n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCgg',
};

const whole = {
  ver: 1,
  iss: facts.issuer,
  aud: 'catalog',
  sub: 'media.player',
  uid: 'media.player',
  client_id: 'media.player',
  iat: 1_000,
  exp: 1_060,
  auth_time: 1_000,
  jti: facts.tokenId,
  scp: ['editor', 'reader'],
  scope: 'editor reader',
};

const confirmation = { 'x5t#S256': facts.thumbprint };
const spiffe = ['spiffe://media/sa/proxy', 'spiffe://media/sa/"quoted\\"'];

const cases: readonly (readonly [note: string, facts: Facts, claims: object])[] = [
  ['bound', facts, { ...whole, cnf: confirmation }],
  ['not bound', { ...facts, thumbprint: undefined }, whole],
  [
    'of one role',
    { ...facts, roles: ['reader' as RoleName] },
    { ...whole, scp: ['reader'], scope: 'reader', cnf: confirmation },
  ],
  [
    'with an issuer that JSON escapes',
    { ...facts, issuer: 'https://a/"\\' },
    { ...whole, iss: 'https://a/"\\', cnf: confirmation },
  ],
  [
    'with proxies that JSON escapes',
    { ...facts, proxyPrincipals: spiffe },
    { ...whole, cnf: { ...confirmation, 'proxy-principals#spiffe': spiffe } },
  ],
];

for (const [note, given, claims] of cases) {
  test(`claims of a token ${note} are what JSON.stringify writes`, (t) =>
    t.is(accessTokenClaims(given), JSON.stringify(claims)));
}
