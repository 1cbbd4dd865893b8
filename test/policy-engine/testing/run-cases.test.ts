import { readFileSync } from 'node:fs';
import { PolicyEngine, type PolicyInput } from '@signet/policy-engine';
import { createTestAuthority, runCases } from '@signet/policy-engine/testing';
import test from 'ava';
import { parse } from 'yaml';
import { isNoName } from '#support/invalid-name';

const movies: PolicyInput = {
  name: 'movies',
  assertions: [
    { effect: 'ALLOW', role: 'reader', action: 'read', resource: 'movie' },
    { effect: 'ALLOW', role: 'editor', action: '*', resource: '*' },
    { effect: 'DENY', role: '*', action: 'delete', resource: '*' },
  ],
};
const engine = PolicyEngine.fromDomains({ catalog: [movies] });
const read = (role: string, expect: string) => ({ roles: [role], action: 'read', resource: 'movie', expect });

test('a case says what the host says of itself', (t) => {
  const conditions = {
    conditionsList: [{ conditionsMap: { instances: { operator: 'IN_CIDR', value: '10.0.0.0/8' } } }],
  };
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie', conditions }];
  const report = runCases(
    PolicyEngine.fromDomains({ catalog: [{ name: 'p', assertions }] }),
    [
      { ...read('reader', 'allow'), context: { instances: '10.1.2.3' } },
      { ...read('reader', 'deny'), context: { instances: '11.1.2.3' } },
      { ...read('reader', 'deny') },
    ],
    { domain: 'catalog' },
  );
  t.is(report.passed, 3);
});

test('cases that fail say why, and the rules that decided nothing are named', (t) => {
  const report = runCases(
    engine,
    [
      { note: 'readers read', ...read('reader', 'allow') },
      { note: 'guests do not', ...read('guest', 'deny') },
      { note: 'by its status', ...read('guest', 'DENY_NO_MATCH') },
      { note: 'guests do', ...read('guest', 'allow') },
      { note: 'nobody deletes', roles: ['editor'], action: 'delete', resource: 'catalog:movie', expect: 'allow' },
      { note: 'a slip of the pen', roles: ['reader'], action: 'read', resource: 'media:movie', expect: 'deny' },
      { note: 'no such domain', domain: 'nowhere', ...read('reader', 'deny') },
      {
        note: 'bundles hold no members',
        principal: 'media.player',
        action: 'read',
        resource: 'movie',
        expect: 'allow',
      },
    ],
    { domain: 'catalog' },
  );
  t.deepEqual(report, {
    passed: 3,
    failures: [
      {
        index: 3,
        note: 'guests do',
        expected: 'allow',
        decided: 'DENY_NO_MATCH',
        message:
          'case 4 (guests do): the caller with roles guest: read movie: expected allow, decided DENY_NO_MATCH; no assertion matches',
      },
      {
        index: 4,
        note: 'nobody deletes',
        expected: 'allow',
        decided: 'DENY',
        message:
          'case 5 (nobody deletes): the caller with roles editor: delete catalog:movie: expected allow, decided DENY; policy movies: DENY delete on * for *',
      },
      {
        index: 5,
        note: 'a slip of the pen',
        expected: 'deny',
        decided: 'DENY_DOMAIN_MISMATCH',
        message:
          'case 6 (a slip of the pen): the caller with roles reader: read media:movie: expected deny, decided DENY_DOMAIN_MISMATCH; no assertion matches',
      },
      {
        index: 6,
        note: 'no such domain',
        expected: 'deny',
        decided: 'DENY_DOMAIN_NOT_FOUND',
        message:
          'case 7 (no such domain): the caller with roles reader: read movie: expected deny, decided DENY_DOMAIN_NOT_FOUND; no assertion matches',
      },
    ],
    skipped: [7],
    coverage: {
      total: 3,
      decided: 2,
      share: 2 / 3,
      missed: [
        {
          domain: 'catalog',
          policy: 'movies',
          assertion: { effect: 'ALLOW', role: 'editor', action: '*', resource: '*' },
        },
      ],
    },
  });
});

test('the roles of principals, by the time of the case', (t) => {
  const asked: unknown[] = [];
  const ask = { action: 'read', resource: 'movie' };
  const report = runCases(
    engine,
    [
      { principal: 'media.player', ...ask, expect: 'allow', at: '2026-01-01T00:00:00Z' },
      { principal: 'media.guest', ...ask, expect: 'DENY_NO_MATCH' },
    ],
    {
      domain: 'catalog',
      rolesOf: (...parameters) => {
        asked.push(parameters);
        return parameters[0] === 'media.player' ? ['reader'] : [];
      },
    },
  );
  t.deepEqual([report.passed, report.failures, report.skipped], [2, [], []]);
  t.deepEqual(asked, [
    ['media.player', 'catalog', 1_767_225_600_000],
    ['media.guest', 'catalog', undefined],
  ]);
});

test('the cases of the sample domains can be run', (t) => {
  const document = (name: string): unknown =>
    parse(readFileSync(new URL(`../../../policies/${name}.yaml`, import.meta.url), 'utf8'));
  const cases = document('catalog.cases');
  const members: Record<string, string[]> = {
    'media.player': ['reader'],
    'media.studio': ['editor', 'reader'],
    'sys.auth.operator': ['admin', 'cleaner', 'janitor', 'operator'],
  };
  const publishing = { effect: 'ALLOW', role: 'publisher', action: 'write', resource: 'series' } as const;
  const sample = PolicyEngine.fromDomains({ catalog: [{ ...movies, assertions: [...movies.assertions, publishing] }] });
  const { skipped, failures } = runCases(sample, cases, { domain: 'catalog' });
  t.true(skipped.length > 10);
  t.deepEqual(failures, []);
  const report = runCases(sample, cases, {
    domain: 'catalog',
    rolesOf: (principal) => members[principal.toLowerCase()] ?? [],
  });
  t.is(report.skipped.length, 0);
});

const wrong: [note: string, cases: unknown, message: string][] = [
  ['no list', {}, '`cases` must be an array'],
  ['no object', ['x'], 'case 1: it must be an object'],
  ['an unknown member', [{ ...read('a', 'allow'), acton: 'x' }], 'case 1: `acton` is not a member of a case'],
  ['unknown, as a text', [{ ...read('a', 'allow'), unknown: 'yes' }], 'case 1: `unknown` must be true or false'],
  ['no domain', [{ ...read('a', 'allow') }], 'case 1: neither the case nor the run names a `domain`'],
  ['no domain name', [{ ...read('a', 'allow'), domain: 'a b' }], `case 1: \`domain\` ${isNoName('DomainName')}`],
  ['no action', [{ ...read('a', 'allow'), domain: 'a', action: 1 }], 'case 1: `action` and `resource` must be strings'],
  [
    'an unknown answer',
    [{ ...read('a', 'yes'), domain: 'a' }],
    'case 1: `expect` is neither `allow` nor `deny` nor a status',
  ],
  [
    'two subjects',
    [{ ...read('a', 'allow'), domain: 'a', principal: 'b.c' }],
    'case 1: it needs either `principal` or `roles`',
  ],
  [
    'a context of other keys',
    [{ ...read('a', 'allow'), domain: 'a', context: { host: 'h1' } }],
    'case 1: `context` must be an object of strings; keys: enforcementstate, instances, scopeall, scopeaws, scopeazure, scopegcp, scopeonprem',
  ],
  [
    'a context of numbers',
    [{ ...read('a', 'allow'), domain: 'a', context: { instances: 1 } }],
    'case 1: `context` must be an object of strings; keys: enforcementstate, instances, scopeall, scopeaws, scopeazure, scopegcp, scopeonprem',
  ],
  ['a local time', [{ ...read('a', 'allow'), domain: 'a', at: '2026-01-01' }], 'case 1: `at` is not a time in UTC'],
];
for (const [note, cases, message] of wrong) {
  test(`no cases: ${note}`, (t) => {
    t.throws(() => runCases(engine, cases), { message });
  });
}

test('an authority with everything starts within milliseconds', async (t) => {
  await createTestAuthority();
  const times: number[] = [];
  for (let round = 0; round < 9; round += 1) {
    const start = process.cpuUsage();
    await createTestAuthority();
    times.push(process.cpuUsage(start).user / 1000);
  }
  const median = times.sort((a, b) => a - b)[4] ?? Number.POSITIVE_INFINITY;
  t.log(`median ${median.toFixed(2)} ms of processor time`);
  t.true(median < 100);
});
