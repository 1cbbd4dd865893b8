import test from 'ava';
import { caller, form, startServer, wholeFile } from '#support/start-server';

/* Queries about a principal's roles are charged for the roles and assertions that are read for it, also where these give it nothing. */

const rules = 4000;
const held = 2000;
let now = 0;
const file = wholeFile();
const server = await startServer(file, {
  domains: [
    { name: 'media', services: { plain: {}, lent: {} } },
    {
      name: 'lender',
      roles: { holder: ['media.lent'] },
      policies: {
        lending: Array.from(
          { length: rules },
          (_, index) => ['ALLOW', 'holder', 'assume_role', `role.r${index}`] as const,
        ),
      },
    },
    {
      name: 'wide',
      roles: Object.fromEntries(Array.from({ length: held }, (_, index) => [`r${index}`, ['media.lent']])),
    },
    { name: 'borrower', services: { api: {} }, roles: { any: { trust: 'lender', members: [] } } },
  ],
  options: {
    profile: 'athenz',
    'budgets.principal': { workMsPerSecond: 1, burstMs: 100, inFlight: 8, share: 0.1 },
    'budgets.refusalDelayMs': 0,
  },
  monotonic: () => now,
});
const [plain, lent] = [
  caller(file, server, await server.pki.identity('media.plain')),
  caller(file, server, await server.pki.identity('media.lent')),
];
test.after.always('end', () => file.end());

const token = (scope: string) => form({ grant_type: 'client_credentials', scope });
const idToken = '/oauth2/auth?response_type=id_token&output=json&nonce=n&client_id=borrower.api';
const asked: readonly (readonly [path: string, options?: ReturnType<typeof token>])[] = [
  ['/oauth2/token', token('borrower:domain')],
  ['/oauth2/token', token('borrower:role.any')],
  ['/domain/borrower/token'],
  ['/domain/borrower/token?role=any'],
  [`${idToken}&scope=openid+roles`],
  [`${idToken}&scope=openid+borrower:role.any`],
  ['/access/read?resource=borrower:movie'],
  ['/access/domain/borrower/principal/media.NAME'],
  ['/access/domain/borrower/role/any/principal/media.NAME'],
  ['/providerdomain/borrower/user/media.NAME'],
  ['/access/read?resource=lender:movie'],
  // However few of the roles are asked for.
  [`${idToken}&scope=openid+wide:role.r1`],
];

/** Number of answers until the budget is spent. */
async function answered(call: typeof plain, name: string, [path, options]: (typeof asked)[number]): Promise<number> {
  // Once more than counts, as a connection is paid with its first request; then all of the budget is there again.
  const ask = () => call(path.replace('NAME', name), options);
  await ask();
  now += 1e12;
  for (let count = 0; ; count += 1) if ((await ask()).status === 429) return count;
}

test.serial('what is looked at to find roles is paid by who asks', async (t) => {
  for (const each of asked) {
    const [usual, costly] = [await answered(plain, 'plain', each), await answered(lent, 'lent', each)];
    t.log(`${each[0]}: ${costly} of ${usual}`);
    t.true(costly > 0 && costly < usual * 0.7, `${each[0]}: ${costly} of ${usual}`);
  }
});
