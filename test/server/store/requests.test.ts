import { type DomainName, parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import type { RequestQuery, StoredRequest } from '@signet/server/model/change-requests';
import { openStore } from '@signet/server/store/open';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { storeKinds } from '#support/store-kinds';

/* Rows of change requests. */

const by = { actor: 'user.anna', reason: 'a reason' };
const [anna, berta] = [parsePrincipalName('user.anna'), parsePrincipalName('user.berta')];
const [films, under, other] = [parseDomainName('films'), parseDomainName('fi_ms'), parseDomainName('fixms')];
const clock = new FakeClock();
const now = clock.now();

type NewRequest = Omit<StoredRequest, 'id' | 'kind'>;

function request(domain: DomainName, more: Partial<NewRequest> = {}): NewRequest {
  const content = { kind: 'role', domain, role: parseRoleName('publisher'), seconds: 3600 } as const;
  const times = { created: now, expires: now + 3_600_000 };
  return { state: 'open', author: anna, ...times, domains: [domain], needed: 1, content, approvals: [], ...more };
}

for (const kind of storeKinds) {
  test(`${kind.name}: requests are read as they were written, newest first`, async (t) => {
    const store = await openStore(await kind.place(t), { clock });
    t.teardown(() => store.close());
    const edit = { operation: 'PutMember', params: { domainName: 'films' }, flags: ['allowWildcard'], body: { a: 1 } };
    const all: readonly NewRequest[] = [
      request(films, { reason: 'ticket 4711' }),
      request(under, { author: berta, domains: [films, under], effect: 'd', content: { kind: 'edit', ...edit } }),
      request(other, { state: 'unreviewed', content: { kind: 'documents', files: [], flags: [] } }),
      request(films, { created: now - 20, expires: now - 10 }),
    ];
    const stored: StoredRequest[] = [];
    for (const one of all) stored.unshift(await store.change(by, (change) => change.addRequest(one)));
    const ids = stored.map(({ id }) => id);
    const [late = 0, third = 0, second = 0, first = 0] = ids;
    const find = async (query: Partial<RequestQuery>) =>
      (await store.view((reader) => reader.requests({ limit: 10, now, ...query }))).map(({ id }) => id);

    t.deepEqual(await find({}), ids);
    t.deepEqual(await store.view((reader) => reader.request(second)), stored[2]);
    t.is(await store.view((reader) => reader.request(late + 1_000_000)), undefined);
    t.deepEqual(await find({ limit: 2 }), [late, third]);
    t.deepEqual(await find({ before: third }), [second, first]);
    t.deepEqual(await find({ domain: films }), [late, second, first]);
    t.deepEqual(await find({ domain: under }), [second], 'an underscore in a name is that underscore');
    t.deepEqual(await find({ state: 'unreviewed' }), [third]);
    t.deepEqual(await find({ state: 'expired' }), [late]);
    t.deepEqual(await find({ author: anna, state: 'open' }), [first]);
    const open = (author: string, domain: DomainName) =>
      store.view((reader) => reader.openRequests({ author, domain, now }));
    t.deepEqual(await open(anna, films), { ofAuthor: 1, ofDomain: 2 });
    t.deepEqual(await open(berta, other), { ofAuthor: 1, ofDomain: 0 });
    t.is((await store.verifyAudit()).fault, undefined);
  });

  test(`${kind.name}: a new epoch expires open requests, which may have been rejected in what was lost`, async (t) => {
    const store = await openStore(await kind.place(t), { clock });
    t.teardown(() => store.close());
    const add = (more: Partial<NewRequest>) => store.change(by, (change) => change.addRequest(request(films, more)));
    const [open, unreviewed] = [await add({}), await add({ state: 'unreviewed' })];
    await store.change(by, (change) => change.newEpoch());
    const find = async (state: RequestQuery['state'] & string) =>
      (await store.view((reader) => reader.requests({ state, limit: 10, now }))).map(({ id }) => id);
    t.deepEqual(
      [await find('open'), await find('expired'), await find('unreviewed')],
      [[], [open.id], [unreviewed.id]],
    );
  });
}

test('a restore expires the requests that were open in the backup', async (t) => {
  const place = await storeKinds.find(({ name }) => name === 'SQLite')?.place(t);
  if (place?.kind !== 'sqlite') throw new Error('SQLite is built in');
  const sealKey = Buffer.alloc(32, 7);
  const store = await openSqliteStore(place.file, { clock });
  const asked = await store.change(by, (change) => change.addRequest(request(films)));
  await backUpStore(place.file, `${place.file}.backup`, sealKey);
  const rejected = { ...asked, state: 'rejected', closed: now } as const;
  await store.change(by, (change) => change.saveRequest(rejected, { action: 'reject', by, comment: 'no' }));
  await store.close();
  await restoreStore(place.file, `${place.file}.backup`, { clock, context: by, proof: { sealKey } });
  const again = await openSqliteStore(place.file, { clock });
  t.teardown(() => again.close());
  const expired = await again.view((reader) => reader.requests({ state: 'expired', limit: 10, now }));
  t.deepEqual(
    expired.map(({ id }) => id),
    [asked.id],
  );
});
