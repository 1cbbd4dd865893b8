import { join } from 'node:path';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { ServiceUnavailableError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { runDocumentsJob } from '@signet/server/management/plan-job';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { storeKinds } from '#support/store-kinds';
import { temporaryFolder } from '#support/temp';

/** 2027-01-01T00:00:00Z. */
const now = 1_798_761_600_000;
const by = { actor: 'test' };
const boss = parsePrincipalName('user.boss');

const films = (members: string) => `domain: films
roles:
  admin: { members: [user.boss] }
  reader: { members: [${members}] }
`;
const folderOf = (text: string) => parseFolder([{ file: 'films.yaml', text }]);

test('a plan lists ten thousand changes and a thousand warnings, and counts the changes', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  await applyDocuments(store, folderOf(films('')), by, { now });
  await store.close();
  const planned = async (count: number) => {
    const members = Array.from({ length: count }, (_, index) => `user.s${index}`).join(', ');
    // Roles that do not exist are warned of.
    const unknown = '- { roles: [none], action: read, resource: "films:film", expect: deny }\n'.repeat(1001);
    const files = [
      { name: 'films.yaml', text: films(members) },
      { name: 'films.cases.yaml', text: unknown },
    ];
    const body = JSON.stringify({ files });
    const options = { author: { caller: boss } };
    const answer = await runDocumentsJob({
      kind: 'plan',
      place: { kind: 'sqlite', file },
      body,
      options,
      context: by,
      now,
    });
    if (answer.kind !== 'json') throw new Error(answer.failure.message);
    return JSON.parse(Buffer.from(answer.json).toString());
  };
  const { changes, changesTotal, warnings } = await planned(10_000);
  t.deepEqual([changes.length, changesTotal, warnings.length], [10_000, undefined, 1000]);
  const more = await planned(10_001);
  t.deepEqual([more.changes.length, more.changesTotal], [10_000, 10_001]);
});

test('an apply plans again three times when what it read changes without another effect', async (t) => {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const media = (description: string) => {
    const text = `domain: media\ndescription: ${description}\ngroups: { team: { members: [user.ann] } }\n`;
    return parseFolder([{ file: 'media.yaml', text }]);
  };
  await applyDocuments(store, media('first'), by, { now });
  const folder = folderOf(films('"media:group.team"'));
  const { digest: plan } = await planDocuments(store, folder, now);
  let left = 0;
  let tries = 0;
  /** The store, in which `media` changes before an apply has its turn. */
  const restless: Store = Object.create(store, {
    change: {
      value: async (...args: Parameters<Store['change']>) => {
        tries += 1;
        left -= 1;
        if (left >= 0) await applyDocuments(store, media(`text ${tries}`), by, { now });
        return await store.change(...args);
      },
    },
    view: { value: (...args: Parameters<Store['view']>) => store.view(...args) },
  });
  left = 3;
  await t.throwsAsync(applyDocuments(restless, folder, by, { now, plan }), { instanceOf: ServiceUnavailableError });
  t.is(tries, 3);
  left = 2;
  t.like(await applyDocuments(restless, folder, by, { now, plan }), { domains: [{ outcome: 'created' }] });
});

for (const kind of storeKinds) {
  test(`${kind.name}: of four applies of one plan by two servers one happens, and nothing between two of its domains`, async (t) => {
    const place = await kind.place(t);
    const store = await openStore(place);
    t.teardown(() => store.close());
    const names = ['films', 'books', 'plays'];
    const text = (name: string, member: string) =>
      `domain: ${name}\nroles:\n  admin: { members: [user.boss] }\n  reader: { members: [${member}] }\n`;
    const filesOf = (member: string) => names.map((name) => ({ name: `${name}.yaml`, text: text(name, member) }));
    const stored = filesOf('user.ann').map(({ name, text }) => ({ file: name, text }));
    await applyDocuments(store, parseFolder(stored), by, { now });
    const body = JSON.stringify({ files: filesOf('user.bob') });
    const job = { place, body, options: { author: { caller: boss } }, context: { actor: boss }, now };
    const planned = await runDocumentsJob({ ...job, kind: 'plan' });
    const { digest: plan } = JSON.parse(planned.kind === 'json' ? Buffer.from(planned.json).toString() : '{}');
    const before = (await store.state()).counter;
    const applied = await Promise.all([1, 2, 3, 4].map(() => runDocumentsJob({ ...job, kind: 'apply', plan })));
    const outcomes = applied.map((answer) => (answer.kind === 'json' ? 'applied' : answer.failure.code));
    t.deepEqual(outcomes.sort(), ['applied', ...Array<string>(3).fill('precondition-failed')]);
    t.is((await store.state()).counter, before + 1, 'one change of the store');
    for (const record of await store.audit({ limit: 3 })) t.like(record, { actor: 'user.boss', action: 'change' });
  });
}
