import { readFileSync } from 'node:fs';
import { PolicyEngine, staticKeys } from '@signet/policy-engine';
import type { Status } from '@signet/policy-engine/policy';
import { createTestAuthority } from '@signet/policy-engine/testing';
import { verifyAccessToken } from '@signet/policy-engine/token';
import test from 'ava';

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
    '`caseSensitive` of an assertion or policy says that its texts are stored and carried as they are written; no decision looks at case.',
    [
      { assertion: { action: 'READ', caseSensitive: true }, status: 'ALLOW' },
      { assertion: { resource: 'catalog:Movie', caseSensitive: true }, status: 'ALLOW' },
      { assertion: { action: 'READ' }, policy: { caseSensitive: true }, status: 'ALLOW' },
      { assertion: { caseSensitive: true }, asked: { action: 'Read', resource: 'catalog:MOVIE' }, status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'Capitals count for nothing in actions and resources, the domain of a resource included',
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
    '`role.` is cut off once, literally.',
    [
      { assertion: { role: 'catalog:role.role.reader' }, asked: { roles: ['role.reader'] }, status: 'ALLOW' },
      { asked: { roles: ['role.reader'] }, status: no },
    ],
  ],
  [
    'decisions.md',
    'A policy with `active: false` is left out, in a bundle and in `fromDomains`.',
    [
      { policy: { active: true }, status: 'ALLOW' },
      { policy: { active: false }, status: 'DENY_DOMAIN_EMPTY' },
    ],
  ],
  [
    'decisions.md',
    'keys, operators and values are folded, values separated by commas, blanks around one cut off.',
    [
      { assertion: when('equals', 'H1', 'INSTANCES'), asked: on('h1'), status: 'ALLOW' },
      { assertion: when('EQUALS', 'h2 , h1'), asked: on('H1'), status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    'Keys of `context` are read as they are written in small letters, `instances`, and no others.',
    [
      { assertion: when('EQUALS', 'h1'), asked: { context: { Instances: 'h1' } }, status: no },
      { assertion: when('EQUALS', 'h1'), asked: { context: { instances: 'h1', region: 'x' } }, status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    '`*` alone is any value for `EQUALS`, and beside other text it is a character',
    [
      { assertion: when('EQUALS', '*'), asked: on('h1'), status: 'ALLOW' },
      { assertion: when('EQUALS', 'h*'), asked: on('h1'), status: no },
      { assertion: when('EQUALS', 'h*'), asked: on('h*'), status: 'ALLOW' },
    ],
  ],
  [
    'decisions.md',
    '`NOT_EQUALS` does not take it alone, `STARTS_WITH` and `IN_CIDR` take it nowhere.',
    [
      ...notTaken('NOT_EQUALS', '*'),
      { assertion: when('NOT_EQUALS', 'h*'), asked: on('h1'), status: 'ALLOW' },
      ...['*', 'h*'].flatMap((value) => [...notTaken('STARTS_WITH', value), ...notTaken('IN_CIDR', value)]),
    ],
  ],
  [
    'decisions.md',
    'An empty value in a list is one that `STARTS_WITH` does not take.',
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
const nested = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
/** The header is looked at before the signature is, and no library writes such ones. */
function withMember(token: string, member: string): string {
  const [header = '', ...rest] = token.split('.');
  const read: object = JSON.parse(Buffer.from(header, 'base64url').toString());
  return [Buffer.from(JSON.stringify({ ...read, [member]: 'x' })).toString('base64url'), ...rest].join('.');
}

const faults: readonly (readonly [fault: string, token: () => Promise<unknown>])[] = [
  ['not-text', async () => 7],
  ['too-large', async () => 'a'.repeat(16_385)],
  ['malformed', async () => 'a'.repeat(16_384)],
  ...['crit', 'b64', 'zip', 'jku', 'jwk', 'x5u', 'x5c'].map(
    (member) => ['malformed', async () => withMember(await authority.token(usual), member)] as const,
  ),
  ['malformed', () => authority.token({ ...usual, claims: { more: nested(33) } })],
  ['valid', () => authority.token({ ...usual, claims: { more: nested(20) } })],
  ['type', () => authority.token({ ...usual, header: { typ: 'JWT' } })],
  ['unknown-key', () => authority.token({ ...usual, header: { kid: 'other' } })],
  ['issuer', () => authority.token({ ...usual, claims: { iss: 'https://other.test' } })],
  ['audience', () => authority.token({ ...usual, claims: { aud: 'media' } })],
  ['claims', () => authority.token({ ...usual, claims: { sub: '' } })],
  ['roles', () => authority.token({ ...usual, roles: Array.from({ length: 1001 }, (_, at) => `r${at}`) })],
  ['confirmation', () => authority.token({ ...usual, claims: { cnf: { jkt: 'x' } } })],
];

test('decisions.md: what makes a token refused has the fault of the table', async (t) => {
  for (const [fault, token] of faults) {
    const text = await token();
    const outcome = await verifyAccessToken(text, { ...options, now: authority.clock.now() });
    const told: string = outcome.kind === 'invalid' ? outcome.fault : outcome.kind;
    t.is(told, fault, String(text).slice(0, 60));
    if (fault !== 'valid') t.regex(page('decisions.md'), new RegExp(`^\\| \`${fault}\` +\\|`, 'm'));
  }
});

test('decisions.md: the table has every fault that the engine knows, and no other', (t) => {
  const source = readFileSync(new URL('../../policy-engine/src/token/claims.ts', import.meta.url), 'utf8');
  const [, union = ''] = /export type TokenFault =([^;]*);/.exec(source) ?? [];
  const known = [...union.matchAll(/'([^']+)'/g)].map(([, name]) => name);
  const [, table = ''] = page('decisions.md').split('## What is refused');
  t.deepEqual(
    [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name),
    known,
  );
});
