import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidDocumentError, PreconditionFailedError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { parsePlanFile, planFileOf } from '@signet/server/management/plan-file';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const by = { actor: 'local:jane' };
const now = 1_700_000_000_000;

const catalog = `domain: catalog
roles:
  reader: { members: [media.player] }
  editor: { members: [media.studio] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
    - { action: "*", resource: movie, role: editor }
services:
  api: {}
`;

async function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  let count = 0;
  const documents = (files: Readonly<Record<string, string>>) => {
    const documents = join(folder, `documents-${count++}`);
    mkdirSync(documents);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(documents, name), text);
    return readDocumentFolder(documents);
  };
  return { store, documents };
}

test('says what is created, changed and deleted, and whose access flips; changes nothing', async (t) => {
  const { store, documents } = await openWorld(t);
  await applyDocuments(store, documents({ 'catalog.yaml': catalog }), by, { now });
  const before = await contentsOf(store);
  const changed = catalog
    .replace('[media.player]', '["media.*"]')
    .replace('{ action: "*", resource: movie, role: editor }', '{ action: read, resource: movie, role: editor }')
    .replace('  api: {}', '  backend: {}');
  const plan = await planDocuments(store, documents({ 'catalog.yaml': changed, 'media.yaml': 'domain: media\n' }), now);
  t.deepEqual(
    plan.changes.map(({ change, kind, domain, name }) => `${change} ${kind} ${domain} ${name}`),
    [
      'delete member catalog reader: media.player',
      'create member catalog reader: media.*',
      'change policy catalog movies version 0',
      'delete assertion catalog movies version 0: ALLOW * on catalog:movie for catalog:role.editor',
      'create assertion catalog movies version 0: ALLOW read on catalog:movie for catalog:role.editor',
      'delete service catalog api',
      'create service catalog backend',
      'create domain media media',
    ],
  );
  t.deepEqual(
    plan.impact?.map(({ principal, change, action, resource }) => ({ principal, change, action, resource })),
    [
      {
        principal: 'media.studio',
        change: 'loss',
        action: { matching: ['*'], except: ['read'] },
        resource: { matching: ['movie'], except: [] },
      },
      {
        principal: 'media.*',
        change: 'gain',
        action: { matching: ['read'], except: [] },
        resource: { matching: ['movie'], except: [] },
      },
    ],
  );
  t.deepEqual(plan.change, [before.state.epoch, before.state.counter]);
  t.deepEqual(await contentsOf(store), before);
});

test('a plan of what is there already changes nothing', async (t) => {
  const { store, documents } = await openWorld(t);
  await applyDocuments(store, documents({ 'catalog.yaml': catalog }), by, { now });
  const plan = await planDocuments(store, documents({ 'catalog.yaml': catalog }), now);
  t.deepEqual([plan.changes, plan.impact], [[], []]);
});

test('cases that fail on the result refuse the plan', async (t) => {
  const { store, documents } = await openWorld(t);
  const cases = '- { principal: media.player, action: write, resource: movie, expect: allow }\n';
  const folder = documents({ 'catalog.yaml': catalog, 'catalog.cases.yaml': cases });
  await t.throwsAsync(planDocuments(store, folder, now), { instanceOf: InvalidDocumentError });
});

test('apply refuses another effect, and applies the same one whatever else has changed', async (t) => {
  const { store, documents } = await openWorld(t);
  const folder = documents({ 'catalog.yaml': catalog });
  const plan = parsePlanFile(JSON.stringify(planFileOf(await planDocuments(store, folder, now))));
  const differs = { instanceOf: PreconditionFailedError, message: 'the effect differs from the plan: plan again' };
  const other = documents({ 'catalog.yaml': `${catalog}description: new\n` });
  await t.throwsAsync(applyDocuments(store, other, by, { now, plan }), differs);
  await t.throwsAsync(applyDocuments(store, folder, by, { now, plan, allowWildcard: true }), differs);
  await applyDocuments(store, documents({ 'unrelated.yaml': 'domain: unrelated\n' }), by, { now });
  const applied = await applyDocuments(store, folder, by, { now, plan });
  t.is(applied.domains[0]?.outcome, 'created');
  const before = await contentsOf(store);
  await t.throwsAsync(applyDocuments(store, folder, by, { now, plan }), differs, 'it was applied already');
  t.deepEqual(await contentsOf(store), before);
});

for (const text of ['', '{}', '{"format":"signet-plan-2","digest":"x"}']) {
  test(`a plan file is refused: ${text}`, (t) => {
    t.throws(() => parsePlanFile(text), { message: 'the plan file is not one that `signet plan --out` wrote' });
  });
}

test('a plan file of the version before says what to do', (t) => {
  const text = '{"format":"signet-plan-1","epoch":1,"counter":2,"head":"","documents":"x"}';
  t.throws(() => parsePlanFile(text), { message: 'the plan file is of an earlier version: plan again' });
});
