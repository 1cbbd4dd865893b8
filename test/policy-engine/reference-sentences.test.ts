import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { type KeySource, PolicyEngine, staticKeys, statuses } from '@signet/policy-engine';
import type { Status } from '@signet/policy-engine/policy';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import { verifyAccessToken } from '@signet/policy-engine/token';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { unionIn } from '#support/union-in';

/* Sentences of the reference about a decision, each with cases that run. */

const authority = await createTestAuthority();
const page = (name: string) => readFileSync(new URL(`../../docs/reference/${name}`, import.meta.url), 'utf8');
const oneLine = (text: string) => text.replace(/\s+/g, ' ');
const pages = Object.fromEntries(['decisions.md', 'names.md'].map((name) => [name, oneLine(page(name))]));

interface Case {
  readonly assertion?: object;
  readonly policy?: object;
  readonly asked?: object;
  readonly status: Status;
}

async function decided({ assertion, policy, asked }: Case): Promise<Status> {
  const usual = { effect: 'ALLOW', role: 'catalog:role.reader', action: 'read', resource: 'catalog:movie' } as const;
  const policies = [{ name: 'p', ...policy, assertions: [{ ...usual, ...assertion }] }];
  const engine = PolicyEngine.fromDomains({ catalog: policies });
  const request = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie', ...asked };
  const { status } = engine.decideRoles(request);
  await engine.close();
  return status;
}

const no = 'DENY_NO_MATCH';
const when = (operator: string, value: string, key = 'instances') => ({
  conditions: { conditionsList: [{ conditionsMap: { [key]: { operator, value } } }] },
});
const on = (instances: string) => ({ context: { instances } });
/** An ALLOW that does not count, and a DENY that does. */
const notTaken = (operator: string, value: string): readonly Case[] => [
  { assertion: when(operator, value), asked: on('h1'), status: no },
  { assertion: { ...when(operator, value), effect: 'DENY' }, asked: on('h1'), status: 'DENY' },
];

const sentences: readonly (readonly [page: string, sentence: string, cases: readonly Case[]])[] = [
  [
    'names.md',
    '`caseSensitive` of an assertion or policy preserves the case of its strings in the store and in bundles; decisions ignore case.',
    [
      { assertion: { action: 'READ', caseSensitive: true }, status: 'ALLOW' },
      { assertion: { resource: 'catalog:Movie', caseSensitive: true }, status: 'ALLOW' },
      { assertion: { action: 'READ' }, policy: { caseSensitive: true }, status: 'ALLOW' },
      { assertion: { caseSensitive: true }, asked: { action: 'Read', resource: 'catalog:MOVIE' }, status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'Actions and resources are compared without case, including the domain of a resource',
    [
      { assertion: { resource: 'Catalog:movie' }, status: 'ALLOW' },
      { asked: { resource: 'CATALOG:movie' }, status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'Roles are compared as written, with their domain',
    [
      { assertion: { role: 'Catalog:role.reader' }, status: no },
      { assertion: { role: 'catalog:role.Reader' }, status: no },
      { asked: { roles: ['Reader'] }, status: no },
    ],
  ],
  [
    'decisions.md',
    'A resource or role pattern that names another domain, or a pattern of domains, never matches',
    [
      { assertion: { resource: 'media:movie' }, status: no },
      { assertion: { resource: 'cat*:movie' }, status: no },
      { assertion: { role: '*:role.reader' }, status: no },
    ],
  ],
  [
    'decisions.md',
    'The prefix `role.` is removed once, literally.',
    [
      { assertion: { role: 'catalog:role.role.reader' }, asked: { roles: ['role.reader'] }, status: 'ALLOW' },
      { asked: { roles: ['role.reader'] }, status: no },
    ],
  ],
  [
    'decisions.md',
    'A policy with `active: false` is ignored, in a bundle and in `fromDomains`.',
    [
      { policy: { active: true }, status: 'ALLOW' },
      { policy: { active: false }, status: 'DENY_DOMAIN_EMPTY' },
    ],
  ],
  [
    'decisions.md',
    'Keys, operators and values are folded, values are separated by commas, and blanks around a value are removed.',
    [
      { assertion: when('equals', 'H1', 'INSTANCES'), asked: on('h1'), status: 'ALLOW' },
      { assertion: when('EQUALS', 'h2 , h1'), asked: on('H1'), status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'Only lower-case keys of `context`, such as `instances`, are read.',
    [
      { assertion: when('EQUALS', 'h1'), asked: { context: { Instances: 'h1' } }, status: no },
      { assertion: when('EQUALS', 'h1'), asked: { context: { instances: 'h1', region: 'x' } }, status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'For `EQUALS`, `*` alone is any value; beside other text it is a literal character',
    [
      { assertion: when('EQUALS', '*'), asked: on('h1'), status: 'ALLOW' },
      { assertion: when('EQUALS', 'h*'), asked: on('h1'), status: no },
      { assertion: when('EQUALS', 'h*'), asked: on('h*'), status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    '`NOT_EQUALS` does not accept `*` alone, `STARTS_WITH` and `IN_CIDR` do not accept it at all.',
    [
      ...notTaken('NOT_EQUALS', '*'),
      { assertion: when('NOT_EQUALS', 'h*'), asked: on('h1'), status: 'ALLOW' },
      ...['*', 'h*'].flatMap((value) => [...notTaken('STARTS_WITH', value), ...notTaken('IN_CIDR', value)]),
    ],
  ],
  [
    'decisions.md',
    '`STARTS_WITH` does not accept an empty value in a list.',
    ['', 'h,', ',h'].flatMap((value) => notTaken('STARTS_WITH', value)),
  ],
];

for (const [name, sentence, cases] of sentences) {
  test(`${name}: ${sentence}`, async (t) => {
    t.true(pages[name]?.includes(sentence), 'the page says so');
    for (const one of cases) t.is(await decided(one), one.status, JSON.stringify(one));
  });
}

const options = { keys: staticKeys(authority.keys), issuers: [authority.issuer], audiences: new Set(['catalog']) };
const usual = { domain: 'catalog', roles: ['reader'] };
const nowSeconds = authority.clock.now() / 1000;
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
/** The header is looked at before the signature is, and no library writes such ones. */
function withMember(token: string, member: string, value = 'x'): string {
  const [header = '', ...rest] = token.split('.');
  const read: object = JSON.parse(Buffer.from(header, 'base64url').toString());
  return [Buffer.from(JSON.stringify({ ...read, [member]: value })).toString('base64url'), ...rest].join('.');
}
/** The text of a token with the signature of another one. */
async function withOtherSignature(): Promise<string> {
  const [one, other] = [await authority.token(usual), await authority.token({ ...usual, roles: ['editor'] })];
  return [...one.split('.').slice(0, 2), other.split('.')[2]].join('.');
}
const unreachable: KeySource = { find: () => Promise.reject(new Error('away')) };
const changed = (claims: object) => () => authority.token({ ...usual, claims: { ...claims } });

type Rules = Partial<Parameters<typeof verifyAccessToken>[1]>;
const faults: readonly (readonly [fault: string, token: () => Promise<unknown>, rules?: Rules])[] = [
  ['not-text', async () => 7],
  ['too-large', async () => 'a'.repeat(16_385)],
  ['malformed', async () => 'a'.repeat(16_384)],
  ...['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c'].map(
    (member) => ['malformed', async () => withMember(await authority.token(usual), member)] as const,
  ),
  ['malformed', changed({ more: nested(33) })],
  ['valid', changed({ more: nested(20) })],
  ...['none', 'HS256', 'x'].map(
    (alg) => ['algorithm', async () => withMember(await authority.token(usual), 'alg', alg)] as const,
  ),
  ['type', () => authority.token({ ...usual, header: { typ: 'JWT' } })],
  ['unknown-key', () => authority.token({ ...usual, header: { kid: 'other' } })],
  ['keys-unavailable', () => authority.token(usual), { keys: unreachable }],
  ['signature', withOtherSignature],
  ['issuer', changed({ iss: 'https://other.test' })],
  ['audience', changed({ aud: 'media' })],
  ['claims', changed({ sub: '' })],
  ['not-yet-valid', changed({ nbf: nowSeconds + 61 })],
  ['valid', changed({ nbf: nowSeconds + 60 })],
  ['lifetime', () => authority.token(usual), { maxTokenLifeSeconds: 1 }],
  ['roles', () => authority.token({ ...usual, roles: Array.from({ length: 1001 }, (_, at) => `r${at}`) })],
  ['confirmation', changed({ cnf: { jkt: 'x' } })],
];

test('decisions.md: a refused token has the fault of the table', async (t) => {
  for (const [fault, token, rules] of faults) {
    const text = await token();
    const outcome = await verifyAccessToken(text, { ...options, ...rules, now: authority.clock.now() });
    const told: string = outcome.kind === 'invalid' ? outcome.fault : outcome.kind;
    t.is(told, fault, String(text).slice(0, 60));
  }
});

const [, table = ''] = page('decisions.md').split('## What is refused');
const rows = [...table.matchAll(/^\| ([a-z ]+?) +\| (?:`(\w+)`)? *\| (?:`([a-z-]+)`)? *\|/gm)]
  .slice(1)
  .map(([, of = '', status = '', fault = '']) => ({ of, status, fault }));

test('decisions.md: the table has every fault, error code and refusing status of the engine, and no other', (t) => {
  const tokens = rows.filter(({ of, fault }) => of === 'token' && fault !== '').map(({ fault }) => fault);
  t.deepEqual(tokens, unionIn('token/claims.ts', 'TokenFault'));
  t.deepEqual(
    [...new Set(faults.map(([fault]) => fault))].toSorted(),
    [...tokens, 'valid'].toSorted(),
    'each has a case',
  );
  const codes = rows.filter(({ of, fault }) => of !== 'token' && fault !== '').map(({ fault }) => fault);
  t.deepEqual(codes.toSorted(), unionIn('errors.ts', 'PolicyEngineErrorCode').toSorted());
  const refusing = statuses.filter((status) => !['ALLOW', 'DENY', 'DENY_NO_MATCH'].includes(status));
  const told = new Set(rows.flatMap(({ status }) => (status === '' ? [] : [status])));
  t.deepEqual([...told].toSorted(), refusing.toSorted());
});

test('decisions.md: a refused role certificate has the status of the table', async (t) => {
  const root = await makeCertificate({ name: 'Root', isAuthority: true });
  const other = await makeCertificate({ name: 'Root', isAuthority: true });
  const engine = PolicyEngine.fromDomains({ catalog: [] }, { clock: new TestClock(1_767_225_600_000) });
  const statusOf = (certificate: unknown) =>
    engine.decideRoleCertificate({
      certificate: certificate as string,
      authorities: root.pem,
      action: 'read',
      resource: 'catalog:movie',
    }).status;
  const named = async (name: string, issuer = root) => (await makeCertificate({ name, issuer })).pem;
  const told = {
    DENY_CERT_MISMATCH_ISSUER: statusOf(await named('catalog:role.reader', other)),
    DENY_CERT_MISSING_SUBJECT: statusOf('no certificate'),
    DENY_CERT_MISSING_DOMAIN: statusOf(await named(':role.reader')),
    DENY_CERT_MISSING_ROLE_NAME: statusOf(await named('catalog.api')),
    DENY_DOMAIN_EMPTY: statusOf(await named('catalog:role.reader')),
  };
  for (const [status, found] of Object.entries(told)) t.is(found, status as Status);
  await engine.close();
});

const refusedRequests: readonly (readonly [asked: object, status: Status])[] = [
  [{ action: '' }, 'DENY_INVALID_PARAMETERS'],
  [{ action: 7 }, 'DENY_INVALID_PARAMETERS'],
  [{ resource: undefined }, 'DENY_INVALID_PARAMETERS'],
  [{ roles: [] }, 'DENY_TOKEN_INVALID'],
  [{ roles: [7] }, 'DENY_TOKEN_INVALID'],
  [{ resource: 'media:movie' }, 'DENY_DOMAIN_MISMATCH'],
  [{ domain: 'media', resource: 'media:movie' }, 'DENY_DOMAIN_NOT_FOUND'],
];

test('decisions.md: a refused request has the status of the table', async (t) => {
  for (const [asked, status] of refusedRequests) t.is(await decided({ asked, status }), status, JSON.stringify(asked));
});
