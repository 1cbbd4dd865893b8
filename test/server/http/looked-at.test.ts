import test from 'ava';
import { type Caller, caller, startServer, wholeFile } from '#support/start-server';
import { costlyDecisions } from '#support/turns';

/* Rows read for a request are charged, however few are answered; on a clock that stands still, so that a budget never fills up. */

const rows = 1000;
const budget = { workMsPerSecond: 10, burstMs: 100, inFlight: 8, share: 1 };

const file = wholeFile();
const server = await startServer(file, {
  domains: [
    {
      name: 'sys.auth',
      roles: { admin: ['sys.auth.operator'] },
      policies: { administration: [['ALLOW', 'admin', '*', '*']] },
      services: { operator: {} },
    },
    {
      name: 'big',
      roles: {
        admin: ['sys.auth.operator'],
        many: {
          members: Array.from({ length: rows }, (_, index) => ({
            name: `media.m${index}`,
            disabled: false,
            review: 1000,
          })),
        },
      },
      policies: {
        rules: Array.from({ length: rows }, (_, index) => ['ALLOW', 'many', 'read', `object${index}`] as const),
      },
    },
    {
      name: 'lair',
      roles: {
        any: ['media.five'],
        ...Object.fromEntries(
          Array.from({ length: 100 }, (_, index) => [
            `r${index}`,
            { members: [{ name: 'media.six', disabled: false, review: 1000 }] },
          ]),
        ),
      },
      policies: {
        rules: Array.from({ length: 100 }, (_, index) => ['ALLOW', 'any', 'manage_*', `role.*x${index}*y`] as const),
      },
    },
    {
      name: 'patterns',
      roles: { admin: ['media.eight', 'media.nine'], any: [] },
      policies: {
        // A literal that nearly fits everywhere.
        rules: Array.from(
          { length: 20 },
          (_, index) => ['ALLOW', 'any', `*${'l'.repeat(100)}${index}*`, `*${'a'.repeat(900)}${index}*`] as const,
        ),
      },
    },
    { name: 'small', roles: { admin: ['sys.auth.operator'] } },
    {
      name: 'media',
      services: Object.fromEntries(
        ['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'].map((n) => [n, {}]),
      ),
    },
    ...Array.from({ length: 300 }, (_, index) => ({ name: `other${index}` })),
  ],
  options: { 'budgets.principal': budget, 'budgets.refusalDelayMs': 0 },
  monotonic: () => 1_000_000,
});
test.after.always('end', () => file.end());

const base = '^/management/v1';

/** How many requests for a path a principal has answered before it is refused; a principal each. */
async function answered(call: Caller, path: string, status: number): Promise<number> {
  for (let count = 0; count < 1000; count += 1) {
    const answer = await call(`${base}${path}`);
    if (answer.status === 429) return count;
    if (answer.status !== status) throw new Error(`${answer.status} ${answer.text}`);
  }
  return 1000;
}

const as = async (name: string) => caller(file, server, await server.pki.identity(name));

test.serial(
  'what is looked at is paid: rules, members, rows of a domain, and whether a caller may see them',
  async (t) => {
    const plain = await answered(await as('media.one'), '/search?member=media.none', 200);
    t.true(plain > 150 && plain < 200, `a search that looks at nothing: ${plain}`);
    for (const [name, path, status] of [
      // 303 domains, and whether it may see each.
      ['media.two', '/domains', 200],
      ['media.three', '/search?action=none', 200],
      // A thousand rows that are due, of one role that it may not see.
      ['media.four', '/reviews', 200],
    ] as const) {
      const count = await answered(await as(name), path, status);
      t.true(count > 5 && count < plain / 3, `${path}: ${count} of ${plain}`);
    }
  },
);

test.serial('who may look at a large domain pays for what is read of it', async (t) => {
  const operator = await as('sys.auth.operator');
  // One budget for all of these: a tenth of them would take it all.
  const paths = ['/search?resource=big:none', '/search?member=media.m1&action=none', '/domains/big/policies'];
  let count = 0;
  for (; count < 200; count += 1) {
    const { status, text } = await operator(`${base}${paths[count % paths.length]}`);
    if (status === 429) break;
    t.is(status, 200, text);
  }
  t.true(count > 5 && count < 50, String(count));
});

test.serial('decisions about what may be seen are paid by what they cost', async (t) => {
  const [held, free] = [await as('media.five'), await as('media.seven')];
  const few = await answered(held, '/reviews?domain=lair', 200);
  const many = await answered(free, '/reviews?domain=lair', 200);
  t.true(few > 0 && few < many / 5, `${few} of ${many}`);
});

test.serial('others have their turn while it is found which reviews may be seen', async (t) => {
  const { decide, pauses } = costlyDecisions();
  t.is((await server.store.dueReviews({ at: 1000, limit: 10, isVisible: decide })).length, 10);
  t.is(pauses(), 9);
});

test.serial('comparisons with patterns are paid by what they cost', async (t) => {
  const [short, long] = [await as('media.eight'), await as('media.nine')];
  const few = await answered(long, `/search?resource=patterns:${'a'.repeat(4087)}`, 200);
  const many = await answered(short, '/search?resource=patterns:a', 200);
  t.true(few > 0 && few < many / 5, `${few} of ${many}`);
});
