import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { type IssueTokensDeps, issueTokens } from '@signet/server/oauth/issue-tokens';
import { parseScope } from '@signet/server/oauth/scope';
import type { Principal } from '@signet/server/principals/principal';
import test from 'ava';
import { snapshotOf } from '#support/domains';

/* Token issuing: pure, with the claims in place of a signature. */

const snapshot = snapshotOf({
  catalog: {
    roles: { reader: ['media.player'], editor: ['media.studio'] },
    services: ['api', { name: 'old', enabled: false }],
  },
  media: { services: ['player', 'studio'] },
});
const sign = (claims: string) => claims;
const both = { accessToken: { sign }, idToken: { sign } };

const player: Principal = {
  kind: 'identity',
  name: parsePrincipalName('media.player'),
  thumbprint: 'print',
} as Principal;
const role = {
  kind: 'role',
  name: 'catalog:role.reader',
  domain: parseDomainName('catalog'),
  role: parseRoleName('reader'),
} as unknown as Principal;

interface Ask {
  readonly as?: Principal;
  readonly scope?: string;
  readonly clientId?: string;
  readonly keys?: object;
  readonly bound?: boolean;
  readonly idTokens?: boolean;
}

function ask({
  as = player,
  scope = 'catalog:domain',
  clientId,
  keys = both,
  bound = true,
  idTokens = true,
}: Ask = {}) {
  const deps = {
    snapshot: () => snapshot,
    keys: { current: () => keys },
    clock: { now: () => 1_000_000 },
    newTokenId: () => 'id',
    issuer: 'https://issuer.test',
    bounds: { defaultExpirySeconds: 60, maxExpirySeconds: 60, longestExpirySeconds: 60 },
    bound,
    idTokens,
  } as unknown as IssueTokensDeps;
  return issueTokens(deps, as, { scope: parseScope(scope), ...(clientId !== undefined && { clientId }) } as never)
    .tokens;
}

const withId = 'catalog:domain openid catalog:service.api';
const refused: [note: string, ask: Ask, name: string][] = [
  ['without a key for access tokens', { keys: { idToken: { sign } } }, 'NoSigningKeyError'],
  ['without a key for ID tokens', { keys: { accessToken: { sign } } }, 'NoSigningKeyError'],
  ['without keys', { keys: {} }, 'NoSigningKeyError'],
  ['in the name of another client', { clientId: 'media.studio' }, 'WrongClientError'],
  ['with a role certificate', { as: role }, 'ForbiddenError'],
  ['for a domain that is not there', { scope: 'nowhere:domain' }, 'UnknownDomainError'],
  ['for a domain without a role in it', { scope: 'media:domain' }, 'NoGrantedRolesError'],
  ['for a role that is held by another', { scope: 'catalog:role.editor' }, 'NoGrantedRolesError'],
  ['for a role that is not there', { scope: 'catalog:role.none' }, 'NoGrantedRolesError'],
  ['with an ID token for a disabled service', { scope: withId.replace('api', 'old') }, 'NotFoundError'],
  ['with an ID token for a service that is not there', { scope: withId.replace('api', 'none') }, 'NotFoundError'],
];
for (const [note, asked, name] of refused) {
  test(`no token ${note}`, (t) => {
    const error = t.throws(() => ask(asked));
    t.is(error?.constructor.name, name);
  });
}

const claimsOf = (token: string | undefined) => JSON.parse(token ?? '{}') as Record<string, unknown>;

test('a token has the roles that are held of those asked for, and is bound to the certificate', (t) => {
  const answer = ask({ scope: 'catalog:role.reader catalog:role.editor', clientId: 'Media.Player' });
  t.is(answer.scope, 'catalog:role.reader');
  t.is(answer.id_token, undefined);
  const claims = claimsOf(answer.access_token);
  t.like(claims, { aud: 'catalog', sub: 'media.player', scp: ['reader'], cnf: { 'x5t#S256': 'print' } });
  t.is(claimsOf(ask({ bound: false }).access_token)['cnf'], undefined);
});

test('an ID token is given where it is asked for and configured', (t) => {
  t.like(claimsOf(ask({ scope: withId }).id_token), { aud: 'catalog.api', sub: 'media.player' });
  t.is(ask({ scope: withId, idTokens: false }).id_token, undefined);
});
