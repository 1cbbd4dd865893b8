import { PolicyEngineError } from '@signet/policy-engine';
import { compileDomain } from '@signet/policy-engine/policy';
import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Health of an engine, for each state of a domain and each fault alone. */

const { healthOf } = await internals<{
  healthOf(parts: {
    set: unknown;
    directory: unknown;
    records: unknown;
    clock: unknown;
    served: { names?: readonly string[] };
  }): { ok: boolean; domains: object[] };
}>('policy-engine/src/loader/health.ts');

const policy = compileDomain('d', []);
const bundle = { issued: 1000, expires: 2000, loaded: 1100, version: { epoch: 1, version: 2 }, policy };
const error = new PolicyEngineError('bundle-signature', 'broken');

interface More {
  readonly bundles?: object;
  readonly errors?: object;
  readonly error?: Error;
  readonly setBackMs?: number;
  readonly served?: readonly string[];
}

function health(now: number, more: More = {}) {
  const { bundles = { d: bundle }, errors = {}, setBackMs = 0 } = more;
  const directory = {
    bundles: new Map(Object.entries(bundles)),
    errors: new Map(Object.entries(errors)),
    error: more.error,
    scanned: 1500,
  };
  const served = more.served === undefined ? {} : { names: more.served };
  return healthOf({ set: new Map(), directory, records: undefined, clock: { now: () => now, setBackMs }, served });
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
  const clock = { now: () => 0, setBackMs: 0 };
  const found = healthOf({ set, directory: undefined, records: { written: 1 }, clock, served: {} });
  const problems = ['p', '2 decisions took more work than one may cost and were denied'];
  t.deepEqual<unknown, unknown>(found, {
    ok: true,
    domains: [{ domain: 'd', state: 'fresh', assertions: 0, problems }],
    records: { written: 1 },
  });
});

const withoutPolicy: [note: string, served: readonly string[], bundles: object, missing: Record<string, string>][] = [
  ['each has one', ['catalog'], { catalog: bundle }, {}],
  ['a name that is nearly one', ['catalgo'], { catalog: bundle }, { catalgo: ': did you mean `catalog`?' }],
  [
    'one of two, named twice',
    ['media', 'catalog', 'media'],
    { catalog: bundle },
    { media: ': add it to the domains that the updater of this host fetches' },
  ],
  ['no bundle at all', ['d'], {}, { d: ': add it to the domains that the updater of this host fetches' }],
];
for (const [note, served, bundles, missing] of withoutPolicy) {
  test(`a served domain without policy is not ok: ${note}`, (t) => {
    const found = health(1100, { bundles, served });
    const expected = Object.entries(missing).map(([domain, remedy]) => ({
      domain,
      state: 'missing',
      error: {
        code: 'policy-missing',
        message: `there is no policy of the served domain \`${domain}\`${remedy}`,
        at: 1100,
      },
    }));
    t.deepEqual<unknown, unknown>(
      found.domains.filter((each) => !('epoch' in each)),
      expected,
    );
    t.is(found.ok, expected.length === 0);
  });
}

test('a served domain whose file failed has the error of the file', (t) => {
  const found = health(1100, { bundles: {}, errors: { d: { error, at: 7 } }, served: ['d'] });
  t.false(found.ok);
  t.deepEqual<unknown, unknown>(found.domains, [
    { domain: 'd', state: 'missing', error: { code: 'bundle-signature', message: 'broken', at: 7 } },
  ]);
});

test('a directory without any bundle is not ok, and a fault of the directory is told first', (t) => {
  const message = 'there is no bundle to decide by: ask `signet-updater status`';
  t.like(health(1100, { bundles: {} }), { ok: false, domains: [], error: { code: 'policy-missing', message } });
  t.like(health(1100, { bundles: {}, error }), { ok: false, error: { code: 'bundle-signature' } });
});
