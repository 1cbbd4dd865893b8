import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { ServiceUnavailableError, TooManyRequestsError } from '@signet/server/errors';
import { createLogger } from '@signet/server/logger';
import { openDryRuns } from '@signet/server/management/dry-runs';
import type { ImpactAnswer } from '@signet/server/management/find-impact';
import { preview } from '@signet/server/management/preview';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import { temporaryFolder } from '#support/temp';

const { operator, newDomain, as, end } = await managementWorld();
/** On another connection. */
const [boss, second] = [await as('media.boss'), await as('media.boss')];
test.after.always(end);

const members = (count: number) => Array.from({ length: count }, (_, index) => `user.m${index}`);

test.serial('a dry run lists a thousand changes, and counts one more', async (t) => {
  const domain = await newDomain('listed');
  const tried = async (count: number) =>
    (await boss(`${domain}/roles/reader?dryRun=true`, send('PUT', { members: members(count) }))).body as {
      readonly changes: readonly unknown[];
      readonly changesTotal?: number;
    };
  // The role itself is one of them.
  const thousand = await tried(999);
  t.deepEqual([thousand.changes.length, thousand.changesTotal], [1000, undefined]);
  const more = await tried(1000);
  t.deepEqual([more.changes.length, more.changesTotal], [1000, 1001]);
});

test.serial('an impact that is too large to list is told in totals', async (t) => {
  const domain = await newDomain('totals');
  await boss(`${domain}/roles/reader`, send('PUT', { members: members(600) }));
  const rules = ['read', 'write'].map((action) => ({ action, resource: 'film', role: 'reader' }));
  const { body } = await boss(`${domain}/policies/films?dryRun=true`, send('PUT', rules));
  const { impact, ...rest } = body as { readonly impact: readonly unknown[] };
  t.is(impact.length, 1000);
  t.like(rest, {
    impactTotals: { gains: 1200, losses: 0, isExact: true },
    warnings: ['the impact is too large to list: 1200 gains and 0 losses, of which 1000 are listed'],
  });
});

test.serial(
  'one dry run at a time: a second one of the same principal is refused, another principal is not',
  async (t) => {
    const domain = await newDomain('queue');
    const dryRun = () => boss(`${domain}/roles/reader?dryRun=true`, send('PUT', { members: members(3) }));
    const [own, other] = await Promise.all([
      Promise.all([dryRun(), second(`${domain}/roles/reader?dryRun=true`, send('PUT', {}))]),
      operator(`${domain}/roles/reader?dryRun=true`, send('PUT', {})),
    ]);
    t.deepEqual(own.map(({ status }) => status).sort(), [200, 429]);
    const refused = own.find(({ status }) => status === 429);
    t.is(refused?.headers['retry-after'], '2');
    t.like(refused?.body, {
      code: 429,
      message: 'only one dry run, plan or apply at a time: wait until the current one has finished',
    });
    t.is(other.status, 200);
    t.is((await dryRun()).status, 200);
  },
);

test.serial('four dry runs of one domain wait, not one more, and other domains take turns with them', async (t) => {
  const storeFile = join(temporaryFolder(t), 'signet.db');
  await (await openSqliteStore(storeFile)).close();
  const dryRuns = openDryRuns({ place: { kind: 'sqlite', file: storeFile }, logger: createLogger('silent') });
  t.teardown(() => dryRuns.close());
  const order: string[] = [];
  const ask = async (name: string) => {
    const [caller, domain] = [parsePrincipalName(name), parseDomainName('gone')];
    const answer = await dryRuns.findImpact({ caller, domain, change: { kind: 'delete' }, now: 0 });
    order.push(`${name} ${answer.kind}`);
  };
  // The first one runs, and waits for its process to start.
  const crowd = ['a', 'b', 'c', 'd', 'e'].map((service) => ask(`media.${service}`));
  const refused = await t.throwsAsync(ask('media.f'), { instanceOf: TooManyRequestsError });
  t.is(refused.message, '4 dry runs of `media` wait already: send the request again');
  t.is(refused.retryAfterSeconds, 2);
  await Promise.all([...crowd, ask('catalog.api'), ask('user.ann'), ask('user.joe')]);
  const expected = ['media.a', 'catalog.api', 'media.b', 'user.ann', 'user.joe', 'media.c', 'media.d', 'media.e'];
  t.deepEqual(
    order,
    expected.map((name) => `${name} moved`),
  );
});

test.serial('a dry run begins again when the domain was changed meanwhile, and not for ever', async (t) => {
  const domain = parseDomainName('moving');
  const found: ImpactAnswer = { kind: 'found', changes: [], more: false };
  const tries = async (answers: readonly ImpactAnswer[]) => {
    const left = [...answers];
    let attempts = 0;
    const dryRuns = {
      run: <Result>(_: unknown, work: () => Promise<Result>) => work(),
      findImpact: async () => left.shift() ?? found,
      close: async () => undefined,
    };
    const attempt = async () => {
      attempts += 1;
      return { changes: [], change: { kind: 'delete' } as const, warnings: [] };
    };
    const request = { caller: parsePrincipalName('media.boss') };
    const outcome = await preview({ dryRuns, clock: systemClock }, request, domain, attempt).catch((error) => error);
    return [attempts, outcome instanceof ServiceUnavailableError ? 'given up' : outcome.kind];
  };
  const moved = { kind: 'moved' } as const;
  t.deepEqual(await tries([moved, moved, found]), [3, 'dry-run']);
  t.deepEqual(await tries([moved, moved, moved, found]), [3, 'given up']);
});
