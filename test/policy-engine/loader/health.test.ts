import { PolicyEngineError } from '@signet/policy-engine';
import { compileDomain } from '@signet/policy-engine/policy';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Health of an engine, for each state of a domain and each fault alone. */

const { healthOf } = await internals<{
  healthOf(set: unknown, directory: unknown, records: unknown, clock: unknown): { ok: boolean; domains: object[] };
}>('policy-engine/src/loader/health.ts');

const policy = compileDomain('d', []);
const bundle = { issued: 1000, expires: 2000, loaded: 1100, version: { epoch: 1, version: 2 }, policy };
const error = new PolicyEngineError('bundle-signature', 'broken');

function health(now: number, more: { bundles?: object; errors?: object; error?: Error; setBackMs?: number } = {}) {
  const { bundles = { d: bundle }, errors = {}, setBackMs = 0 } = more;
  const directory = {
    bundles: new Map(Object.entries(bundles)),
    errors: new Map(Object.entries(errors)),
    error: more.error,
    scanned: 1500,
  };
  return healthOf(new Map(), directory, undefined, { now: () => now, setBackMs });
}

const states: [note: string, now: number, state: string, ok: boolean][] = [
  ['fresh', 1749, 'fresh', true],
  ['stale from three quarters of its life', 1750, 'stale', true],
  ['stale to its end', 1999, 'stale', true],
  ['expired at its end', 2000, 'expired', false],
];
for (const [note, now, state, ok] of states) {
  test(`a domain is ${note}`, (t) => {
    const found = health(now);
    t.is(found.ok, ok);
    t.deepEqual<unknown, unknown>(found, {
      ok,
      domains: [
        {
          domain: 'd',
          state,
          epoch: 1,
          version: 2,
          issued: 1000,
          expires: 2000,
          loaded: 1100,
          ageMs: now - 1000,
          assertions: 0,
          problems: [],
        },
      ],
      scanned: 1500,
    });
  });
}

test('a clock that is behind a bundle by more than clocks differ is told', (t) => {
  const issued = 1_000_000;
  const bundles = { d: { ...bundle, issued, expires: issued * 2 } };
  t.true(health(issued - 300_000, { bundles }).ok);
  const late = health(issued - 300_001, { bundles });
  t.false(late.ok);
  t.like(late.domains[0], { state: 'fresh', ageMs: 0, error: { code: 'bundle-not-yet-valid', at: issued - 300_001 } });
});

test('a file that failed is told with the domain in force, or as missing', (t) => {
  const errors = { d: { error, at: 7 }, a: { error, at: 8 } };
  const found = health(1100, { errors });
  t.false(found.ok);
  const told = { code: 'bundle-signature', message: 'broken' };
  t.deepEqual<unknown, unknown>(found.domains[0], { domain: 'a', state: 'missing', error: { ...told, at: 8 } });
  t.like(found.domains[1], { domain: 'd', state: 'fresh', error: { ...told, at: 7 } });
  t.is(found.domains.length, 2);
});

test('what is wrong with the directory or with the clock is told', (t) => {
  const broken = health(1100, { error });
  t.like(broken, { ok: false, error: { code: 'bundle-signature', message: 'broken' } });
  t.like(health(1100, { setBackMs: 5 }), { ok: true, clockSetBackMs: 5 });
});

test('policies in memory are fresh, with the decisions that took too much work', (t) => {
  const set = new Map([['d', { policy: { ...policy, problems: ['p'], overruns: { count: 2 } }, expires: 0 }]]);
  const found = healthOf(set, undefined, { written: 1 }, { now: () => 0, setBackMs: 0 });
  const problems = ['p', '2 decisions took more work than one may cost and were denied'];
  t.deepEqual<unknown, unknown>(found, {
    ok: true,
    domains: [{ domain: 'd', state: 'fresh', assertions: 0, problems }],
    records: { written: 1 },
  });
});
