import test from 'ava';
import { costsAreKnown } from '#support/cost';
import { measuredServer } from '#support/request-loop';
import { ecPair, requestPem } from '#support/requests';

/* The same as `bounds-management-load.test.ts` for everything that changes much at once. */

const minutes = 60_000;
const members = 100_000;
const rules = 20_000;

const onLinux = costsAreKnown ? test : test.skip;
const named = (index: number) => `user.member${String(index).padStart(6, '0')}`;
const list = <Item>(length: number, item: (index: number) => Item) => Array.from({ length }, (_, index) => item(index));
const json = (method: string, body: unknown) => ({
  method,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const operators = {
  name: 'sys.auth',
  roles: { admin: ['big.boss'] },
  policies: { operators: [['ALLOW', 'admin', '*', '*']] },
} as const;

onLinux('no change of a large domain holds up the tokens of the others', async (t) => {
  t.timeout(10 * minutes);
  const crowd = list(members, named);
  const { as, measure, assertShort } = await measuredServer(t, [
    operators,
    {
      name: 'big',
      roles: { admin: ['big.boss'], crowd, doomed: crowd, small: [] },
      services: { boss: {} },
      policies: { rules: list(rules, (index) => ['ALLOW', 'small', 'read', `item${index}`] as const) },
    },
  ]);
  const boss = await as('big.boss');
  const domain = '^/management/v1/domains/big';
  const player = await as('media.player');
  const pair = ecPair();
  const csr = requestPem(pair, { commonNames: ['catalog:role.reader'] });
  const rule = (index: number) => ({ action: 'read', resource: `thing${index}`, role: 'small' });
  const batch = list(9000, (index) => named(members + index));

  await measure('put of a role of 9,000', () => boss(`${domain}/roles/small`, json('PUT', { members: batch })));
  await measure('put of it again', () => boss(`${domain}/roles/small`, json('PUT', { members: batch.slice(9) })));
  await measure('one member', () => boss(`${domain}/roles/crowd/members/user.one`, json('PUT', {})));
  await measure('put of a policy of 5,000', () => boss(`${domain}/policies/more`, json('PUT', list(5000, rule))));
  await measure('one rule', () => boss(`${domain}/policies/rules/versions/0/assertions`, json('POST', rule(1))));
  const { headers } = await boss(`${domain}/policies/rules`);
  const matching = {
    ...json('POST', rule(2)),
    headers: { 'content-type': 'application/json', 'if-match': String(headers['etag']) },
  };
  await measure('one rule, if it matches', () => boss(`${domain}/policies/rules/versions/0/assertions`, matching));
  await measure('a dry run', () =>
    boss(`${domain}/roles/small?dryRun=true`, json('PUT', { members: batch.slice(99) })),
  );
  await measure('delete of a policy', () => boss(`${domain}/policies/more`, { method: 'DELETE' }));
  await measure('delete of a role of 100,000, dry run', () =>
    boss(`${domain}/roles/doomed?dryRun=true`, { method: 'DELETE' }),
  );
  let waited = 0;
  await measure('delete of a role of 100,000', async () => {
    const deletion = boss(`${domain}/roles/doomed`, { method: 'DELETE' });
    // It needs the store, which one change at a time writes to: so it waits for the change, and comes then.
    const began = performance.now();
    const certificate = await player('/rolecert', json('POST', { csr, expiryTime: 60 }));
    waited = performance.now() - began;
    t.is(certificate.status, 200, certificate.text);
    return deletion;
  });
  t.log(`a certificate beside it waited ${Math.round(waited)} ms`);
  await measure('changes of what was deleted', () => boss(`${domain}/changes?limit=1000`));
  await measure('changes of the role', () => boss(`${domain}/roles/doomed/changes?limit=1000`));
  await measure('changes of all', () => boss('^/management/v1/changes?limit=1000'));
  assertShort();
});

onLinux('no change that concerns many others holds up the tokens of the others', async (t) => {
  t.timeout(10 * minutes);
  const crowd = list(members, named);
  const { as, measure, assertShort } = await measuredServer(t, [
    operators,
    {
      name: 'big',
      groups: { team: ['user.one'], ...Object.fromEntries(list(5000, (index) => [`group${index}`, []])) },
      roles: {
        admin: ['big.boss'],
        small: [],
        ...Object.fromEntries(list(2000, (index) => [`role${index}`, ['big:group.team']])),
      },
      services: { boss: {}, popular: {}, ...Object.fromEntries(list(5000, (index) => [`service${index}`, {}])) },
    },
    {
      name: 'users',
      roles: {
        admin: ['big.boss'],
        small: [],
        ...Object.fromEntries(
          list(5000, (index) => [`role${index}`, ['big.popular', 'big:group.team', `big.service${index}`]]),
        ),
      },
    },
    {
      name: 'doomed',
      enabled: false,
      roles: { admin: ['user.one'], crowd: crowd.slice(members / 2) },
      groups: { crowd: crowd.slice(members / 2) },
      services: Object.fromEntries(list(2000, (index) => [`service${index}`, {}])),
      policies: { rules: list(rules, (index) => ['ALLOW', 'crowd', 'read', `item${index}`] as const) },
    },
    ...list(300, (index) => ({
      name: `tenant${index}`,
      roles: { reader: ['doomed:group.crowd', 'doomed.service1', 'big.popular'] },
    })),
  ]);
  const boss = await as('big.boss');
  const domain = '^/management/v1/domains';
  const batch = list(1000, named);
  await measure('1,000 members of a group in many roles', () =>
    boss(`${domain}/big/groups/team`, json('PUT', { members: batch })),
  );
  await measure('one member of a group in many roles', () =>
    boss(`${domain}/big/groups/team/members/user.new`, json('PUT', {})),
  );
  await measure('a role with 5,000 groups of another domain', () =>
    boss(`${domain}/users/roles/small`, json('PUT', { members: list(5000, (index) => `big:group.group${index}`) })),
  );
  await measure('a role with 5,000 groups of its own domain', () =>
    boss(`${domain}/big/roles/small`, json('PUT', { members: list(5000, (index) => `big:group.group${index}`) })),
  );
  await measure('delete of a group in many roles', () =>
    boss(`${domain}/big/groups/team?removeMemberships=true`, { method: 'DELETE' }),
  );
  await measure('delete of a service in many roles', () =>
    boss(`${domain}/big/services/popular?removeMemberships=true`, { method: 'DELETE' }),
  );
  await measure('services', () => boss(`${domain}/big/services?limit=1000`));
  await measure('delete of a domain, dry run', () =>
    boss(`${domain}/doomed?removeMemberships=true&dryRun=true`, { method: 'DELETE' }),
  );
  await measure('delete of a domain with 100,000 members', () =>
    boss(`${domain}/doomed?removeMemberships=true`, { method: 'DELETE' }),
  );
  await measure('changes of all', () => boss('^/management/v1/changes?limit=1000'));
  assertShort();
});
