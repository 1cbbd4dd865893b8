import { maxBundleBytes } from '@signet/policy-engine/bundle';
import { parseDomainName, parsePolicyName } from '@signet/policy-engine/names';
import { bundleSizeOfDomain } from '@signet/server/management/bundle-size';
import type { ChangeFacts } from '@signet/server/management/change-rule';
import type { DomainChange } from '@signet/server/model/domain-change';
import type { StoredPolicy } from '@signet/server/model/records';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import { memoryReader } from '#support/memory-reader';

/* Content that no bundle could hold is refused when it is written: hosts would keep their old bundle. */

const { server, boss, newDomain, end } = await managementWorld();
test.after.always(end);

const assertions = (count: number, resource: string) =>
  Array.from({ length: count }, (_, at) => ({ action: 'read', resource: `${resource}${at}`, role: 'admin' }));

test('more policy in force than a bundle may hold is refused, and what is accepted is bundled', async (t) => {
  t.timeout(300_000);
  const domain = await newDomain('large');
  const long = 'm'.repeat(1000);
  const outcomes: number[] = [];
  for (let part = 0; part < 8; part += 1) {
    const body = assertions(900, `${part}${long}`);
    outcomes.push((await boss(`${domain}/policies/p${part}`, send('PUT', body))).status);
  }
  t.deepEqual(outcomes, Array(8).fill(201));
  const reader = await server.store.view((view) => view.policyBytes('large' as never, 128));
  const exact = (await server.store.view((view) => view.policies('large' as never))).flatMap((policy) =>
    policy.assertions.map(({ role, action, resource }) => [role, action, resource].join('').length + 128),
  );
  t.is(
    reader,
    exact.reduce((all, bytes) => all + bytes, 0),
  );
  t.true(reader < maxBundleBytes);
});

test('quotation marks and backslashes count twice, inactive versions not at all', async (t) => {
  const domain = await newDomain('quoted');
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'a"\\é', role: 'admin' }]));
  await boss(`${domain}/policies/p/versions/next`, send('PUT', assertions(5, 'x')));
  const bytes = await server.store.view((view) => view.policyBytes('quoted' as never, 0));
  t.is(bytes, 'quoted:role.admin'.length + 'read'.length + Buffer.byteLength('quoted:a"\\é') + 2);
});

test('who goes above the bound is told so; what is above it may shrink', async (t) => {
  const name = parseDomainName('above');
  const version = (count: number): StoredPolicy =>
    ({
      name: parsePolicyName('p'),
      version: '0',
      active: true,
      assertions: assertions(count, 'above:x').map((each, id) => ({
        ...each,
        id,
        effect: 'ALLOW',
        caseSensitive: false,
      })),
    }) as unknown as StoredPolicy;
  const judge = async (stored: number, before: number, after: number) => {
    const change = {
      name,
      before: {},
      policies: { added: [], removed: [], changed: [{ before: version(before), after: version(after) }] },
    } as unknown as DomainChange;
    const reader = memoryReader([], { policyBytes: async () => stored });
    const faults = await bundleSizeOfDomain(change, { reader } as unknown as ChangeFacts);
    return faults.map(({ error }) => error.message);
  };
  t.deepEqual(await judge(1000, 1, 2), []);
  const [message = ''] = await judge(24_000_000, 1, 2);
  t.regex(
    message,
    /^domain `above` would have more policy than a bundle may hold \(33554432 bytes\): remove assertions/,
  );
  t.deepEqual(await judge(30_000_000, 3, 2), []);
});
