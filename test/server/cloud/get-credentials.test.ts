import { type DomainName, parseDomainName, parsePolicyName, parsePrincipalName } from '@signet/policy-engine/names';
import { notARole, parseCredentialsRequest } from '@signet/server/cloud/credentials-request';
import { getCredentials } from '@signet/server/cloud/get-credentials';
import { roleSession } from '@signet/server/cloud/role-session';
import { ForbiddenError, InvalidRequestError, UnauthenticatedError, UnknownDomainError } from '@signet/server/errors';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';
import { domainContent, stored } from '#support/domains';

/* Access to the credentials of a cloud role, with a cloud that grants every request. */

const account = '123456789012';
const now = 1_700_000_000_000;
const credentials = { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 't', expiration: now + 900_000 };
const request = parseCredentialsRequest(parseDomainName('catalog'), 'Nightly', {});

interface World {
  readonly rules?: readonly string[];
  readonly account?: string | undefined;
  readonly conditions?: boolean;
  readonly inactive?: boolean;
  /** True if another policy, active and without conditions, allows everything by a pattern. */
  readonly pattern?: boolean;
  readonly services?: readonly (string | { readonly name: string; readonly enabled: boolean })[];
  /** Milliseconds since the epoch. */
  readonly credentialsFrom?: number;
}

const exact = 'allow assume_aws_role nightly loader';

function snapshotOf(world: World): Snapshot {
  const { rules = [exact], services = ['player'], conditions = false, inactive = false, pattern = false } = world;
  const catalog = stored(
    domainContent('catalog', {
      roles: { loader: ['media.player'], other: ['media.player'], barred: [] },
      rules,
    }),
  );
  const conditionsList = [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } }];
  const policies = catalog.policies.map((policy) => ({
    ...policy,
    active: !inactive,
    assertions: policy.assertions.map((rule) => ({ ...rule, ...(conditions && { conditions: { conditionsList } }) })),
  }));
  const everything = catalog.policies[0]?.assertions.map((rule) => ({
    ...rule,
    effect: 'ALLOW',
    action: '*',
    resource: 'catalog:*',
  }));
  const open = { ...catalog.policies[0], name: parsePolicyName('open'), assertions: pattern ? everything : [] };
  const aws = 'account' in world ? world.account : account;
  const media = stored(domainContent('media', { services }));
  return compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: [
      {
        ...catalog,
        policies: [...policies, open as (typeof policies)[number]],
        ...(aws !== undefined && { accounts: { aws } }),
      },
      {
        ...media,
        ...(world.credentialsFrom !== undefined && {
          servicesFrom: new Map(media.services.map(({ name }) => [name, world.credentialsFrom ?? 0])),
        }),
      },
    ],
    deleted: [],
    signingKeys: [],
  } as never).snapshot;
}

interface Ask {
  readonly world?: World;
  /** State of the store when the cloud has answered. */
  readonly later?: World;
  readonly principal?: string;
  readonly domain?: string;
  readonly revoked?: boolean;
  readonly certificate?: { readonly serial: string; readonly issuedAt?: number } | undefined;
}

/** `given`, or why not; whether the cloud was asked. */
async function ask(asked: Ask): Promise<{ error: unknown; calls: number }> {
  const { world = {}, later = world, principal = 'media.player', revoked = false } = asked;
  let calls = 0;
  const deps = {
    snapshot: () => snapshotOf(world),
    latest: async () => snapshotOf(later),
    certificates: { find: async (serial: string) => (serial === '0a' && revoked ? { revoked: {} } : { serial }) },
    clock: { now: () => now },
    cache: {
      get: async () => {
        calls += 1;
        return credentials;
      },
    },
  };
  const certificate = 'certificate' in asked ? asked.certificate : { serial: '0a' };
  const caller = { principal: parsePrincipalName(principal), certificate };
  const domain: DomainName = parseDomainName(asked.domain ?? 'catalog');
  const error = await getCredentials(deps as never, caller, { ...request, domain }).then(
    (given) => (given === credentials ? undefined : 'other credentials'),
    (thrown: unknown) => thrown,
  );
  return { error, calls };
}

const given: readonly (readonly [note: string, ask: Ask])[] = [
  ['the right on exactly this role', {}],
  ['in capitals', { world: { rules: ['allow ASSUME_AWS_ROLE NIGHTLY loader'] } }],
  ['beside a rule for another role', { world: { rules: ['allow assume_aws_role weekly other', exact] } }],
  ['without a certificate', { certificate: undefined, revoked: true }],
  ['another certificate was revoked', { certificate: { serial: '0b' }, revoked: true }],
  [
    'a certificate of the time since',
    { world: { credentialsFrom: now }, certificate: { serial: '0a', issuedAt: now } },
  ],
  ['an inactive policy and an active one', { world: { rules: [exact, 'deny read nightly loader'] } }],
];
for (const [note, asked] of given) {
  test(`credentials are given: ${note}`, async (t) => t.deepEqual(await ask(asked), { error: undefined, calls: 1 }));
}

const denied = 'principal may not `assume_aws_role` on `catalog:Nightly`';
type Refusal = readonly [note: string, ask: Ask, type: new (...args: never) => Error, message: string];
const before: readonly Refusal[] = [
  ['no such domain', { domain: 'nowhere' }, UnknownDomainError, 'domain `nowhere` does not exist'],
  ['somebody in no role', { principal: 'media.guest' }, ForbiddenError, denied],
  [
    'a rule for another role of the domain',
    { world: { rules: ['allow assume_aws_role nightly barred'] } },
    ForbiddenError,
    denied,
  ],
  [
    'a rule for a pattern of roles',
    { world: { rules: ['allow assume_aws_role nightly load*'] } },
    ForbiddenError,
    denied,
  ],
  ['a rule for another action', { world: { rules: ['allow read nightly loader'] } }, ForbiddenError, denied],
  ['a rule for all actions', { world: { rules: ['allow * nightly loader'] } }, ForbiddenError, denied],
  [
    'a rule for another cloud role',
    { world: { rules: ['allow assume_aws_role weekly loader'] } },
    ForbiddenError,
    denied,
  ],
  [
    'a rule for a pattern of cloud roles',
    { world: { rules: ['allow assume_aws_role night* loader'] } },
    ForbiddenError,
    denied,
  ],
  ['a rule with conditions', { world: { conditions: true } }, ForbiddenError, denied],
  ['a rule with conditions beside a pattern', { world: { conditions: true, pattern: true } }, ForbiddenError, denied],
  ['a rule that is not active', { world: { inactive: true } }, ForbiddenError, denied],
  ['a rule that is not active beside a pattern', { world: { inactive: true, pattern: true } }, ForbiddenError, denied],
  ['a denial beside it', { world: { rules: [exact, 'deny assume_aws_role night* other'] } }, ForbiddenError, denied],
  [
    'a denial alone',
    { world: { rules: ['deny assume_aws_role nightly loader', 'allow * * loader'] } },
    ForbiddenError,
    denied,
  ],
  [
    'two halves of the right',
    { world: { rules: ['allow assume_aws_role weekly loader', 'allow * nightly loader'] } },
    ForbiddenError,
    denied,
  ],
  ['no account', { world: { account: undefined } }, InvalidRequestError, 'domain `catalog` has no cloud account'],
];
for (const [note, asked, type, message] of before) {
  test(`refused before the cloud is asked: ${note}`, async (t) => {
    const { error, calls } = await ask(asked);
    t.true(error instanceof type);
    t.deepEqual([error instanceof Error && error.message, calls], [message, 0]);
  });
}

const changed = 'the cloud account of domain `catalog` was changed meanwhile, ask again';
const ofPredecessor = 'client certificate is of a deleted service or domain of the same name';
const unknown = 'client certificate names no enabled service: its domain must have the service, enabled';
const after: readonly Refusal[] = [
  ['the right was removed', { later: { rules: ['allow read nightly loader'] } }, ForbiddenError, denied],
  ['the account is another', { later: { account: '210987654321' } }, ForbiddenError, changed],
  [
    'the account is gone',
    { later: { account: undefined } },
    InvalidRequestError,
    'domain `catalog` has no cloud account',
  ],
  ['the certificate was revoked', { revoked: true }, UnauthenticatedError, 'client certificate was revoked'],
  [
    'the service was disabled',
    { later: { services: [{ name: 'player', enabled: false }] } },
    UnauthenticatedError,
    unknown,
  ],
  [
    'the service was made again',
    { later: { credentialsFrom: now }, certificate: { serial: '0a', issuedAt: now - 1000 } },
    UnauthenticatedError,
    ofPredecessor,
  ],
];
for (const [note, asked, type, message] of after) {
  test(`refused after the cloud has answered: ${note}`, async (t) => {
    const { error, calls } = await ask(asked);
    t.true(error instanceof type);
    t.deepEqual([error instanceof Error && error.message, calls], [message, 1]);
  });
}

const nameCases: readonly (readonly [role: string, ok: boolean])[] = [
  ['a'.repeat(64), true],
  ['a'.repeat(65), false],
  [`${'a/'.repeat(256)}${'b'.repeat(64)}`, true],
  [`${'a/'.repeat(257)}${'b'.repeat(62)}`, true],
  [`${'a/'.repeat(257)}${'b'.repeat(63)}`, false],
  ['', false],
  ['a/', false],
  ['-a/b', false],
  ['-b', true],
  ['a/../b', false],
];
for (const [role, ok] of nameCases) {
  test(`a cloud role named ${role.slice(0, 8)}…${role.slice(-64)}, ${role.length} characters`, (t) => {
    const parse = () => parseCredentialsRequest(parseDomainName('catalog'), role, {});
    if (ok) t.is(parse().role, role);
    else t.throws(parse, { instanceOf: InvalidRequestError, message: notARole });
  });
}

const queries: readonly (readonly [query: { durationSeconds?: string; externalId?: string }, fault?: string])[] = [
  [{ durationSeconds: '900' }],
  [{ durationSeconds: '43200' }],
  [{ durationSeconds: '899' }, 'durationSeconds'],
  [{ durationSeconds: '43201' }, 'durationSeconds'],
  [{ durationSeconds: '0900' }],
  [{ durationSeconds: '000900' }, 'durationSeconds'],
  [{ durationSeconds: '' }, 'durationSeconds'],
  [{ externalId: 'ab' }],
  [{ externalId: 'a'.repeat(1224) }],
  [{ externalId: 'a' }, 'externalId'],
  [{ externalId: 'a'.repeat(1225) }, 'externalId'],
  [{ externalId: 'a b' }, 'externalId'],
];
for (const [query, fault] of queries) {
  test(`a query ${JSON.stringify(query).slice(0, 40)}, ${JSON.stringify(query).length} characters`, (t) => {
    const parse = () => parseCredentialsRequest(parseDomainName('catalog'), 'nightly', query);
    if (fault === undefined) t.is(Object.keys(parse()).length, 3);
    else t.throws(parse, { instanceOf: InvalidRequestError, message: new RegExp(`^${fault} must be `) });
  });
}

test('the name of a session is the principal, and one too long keeps its start and gets a digest', (t) => {
  const nameOf = (length: number, end: string) =>
    roleSession(account, parsePrincipalName(`${'d'.repeat(length - 3)}.${end}`), request).sessionName;
  t.is(nameOf(64, 'ab'), `${'d'.repeat(61)}.ab`);
  const [one, two] = [nameOf(65, 'ab'), nameOf(65, 'ac')];
  t.regex(one, /^d{47}-[0-9a-f]{16}$/);
  t.is(one.length, 64);
  t.not(one, two);
});

test('a session holds what was asked for, and nothing that was not', (t) => {
  const session = roleSession(account, parsePrincipalName('media.player'), request);
  t.deepEqual(session, {
    roleArn: `arn:aws:iam::${account}:role/Nightly`,
    sessionName: 'media.player',
    sourceIdentity: 'media.player',
    tags: [
      { key: 'domain', value: 'catalog' },
      { key: 'role', value: 'Nightly' },
      { key: 'principal', value: 'media.player' },
    ],
  });
  const more = { ...request, durationSeconds: 900, externalId: 'ab' };
  const { durationSeconds, externalId, ...rest } = roleSession(account, parsePrincipalName('media.player'), more);
  t.deepEqual([durationSeconds, externalId, rest], [900, 'ab', session]);
});

test('the rules of a domain are read once, and what decisions cost is told', async (t) => {
  const snapshot = snapshotOf({ rules: [exact, 'deny * night*x*y other'] });
  const domain = snapshot.domain(request.domain);
  if (domain === undefined) return t.fail();
  let [reads, work] = [0, 0];
  const policies = domain.policies.map((policy) => ({
    ...policy,
    get assertions() {
      reads += 1;
      return policy.assertions;
    },
  }));
  const counted = { ...domain, policies };
  const world = { ...snapshot, domain: (name: DomainName) => (name === domain.name ? counted : snapshot.domain(name)) };
  const deps = {
    snapshot: () => world,
    latest: async () => world,
    certificates: { find: async () => undefined },
    clock: { now: () => now },
    cache: { get: async () => credentials },
  };
  const compared = (more: number) => {
    work += more;
  };
  const ask = () =>
    getCredentials(deps as never, { principal: parsePrincipalName('media.player') }, request, { compared });
  await ask();
  const [once, policiesRead] = [work, reads];
  await ask();
  t.deepEqual([reads, work], [policiesRead, 2 * once]);
  t.is(policiesRead, policies.length);
  t.true(once > 0);
});
