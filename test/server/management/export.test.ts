import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { coverageOf } from '@signet/server/management/coverage';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { exportDomain } from '@signet/server/management/export-domain';
import { planDocuments } from '@signet/server/management/plan-documents';
import { runCases } from '@signet/server/management/run-cases';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { plainSnapshot } from '#support/plain-domains';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

const everything = `domain: catalog
description: "two\\nlines: and # signs"
requireReason: true
limits: { tokenExpirySeconds: 60, roleCertExpirySeconds: 3600 }
accounts: { aws: "012345678901" }
roles:
  reader:
    description: "yes"
    members:
      - media.player
      - { name: media.studio, expires: 2030-01-01T00:00:00.000Z, review: 2029-01-01T00:00:00Z }
      - { name: "media.play*", disabled: true }
      - "*"
      - catalog:group.friends
    tokenExpirySeconds: 5
  empty: {}
  lent: { trust: media, certExpirySeconds: 7 }
groups:
  friends: { members: [user.jane] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
    - { effect: deny, action: "*", resource: "catalog:movie:?*", role: "r*" }
    - { action: assume_role, resource: "media:role.x", role: reader }
  versions:
    description: Several
    active: "2"
    versions:
      "1": [{ action: read, resource: a, role: reader }]
      "2": [{ action: read, resource: b, role: reader }]
  off: { active: null, versions: { "0": [] } }
services:
  api: { description: x, enabled: false, endpoint: https://x.example/a, hosts: [b, a] }
  keyed: { publicKeys: { "0": ${JSON.stringify(pem)} } }
`;

test('what is exported applies to nothing, and says everything', async (t) => {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  writeFileSync(join(folder, 'catalog.yaml'), everything);
  writeFileSync(join(folder, 'media.yaml'), 'domain: media\nenabled: false\n');
  await applyDocuments(store, readDocumentFolder(folder), { actor: 'a' }, { now: 0, allowWildcard: true });
  const { domains } = await contentsOf(store);
  for (const domain of domains) writeFileSync(join(folder, `${domain.name}.yaml`), exportDomain(domain));
  const again = readDocumentFolder(folder);
  t.deepEqual((await planDocuments(store, again, 0)).changes, []);
  const other = await openSqliteStore(join(folder, 'other.db'));
  t.teardown(() => other.close());
  await applyDocuments(other, again, { actor: 'a' }, { now: 0, allowWildcard: true });
  const plain = (list: typeof domains) => list.map((domain) => exportDomain(domain));
  t.deepEqual(plain((await contentsOf(other)).domains), plain(domains));
});

test('coverage names the rules that no case tries', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(
    join(folder, 'catalog.yaml'),
    `domain: catalog
roles:
  reader: { members: [media.player] }
policies:
  Movies:
    - { action: read, resource: movie, role: reader }
    - { action: write, resource: movie, role: reader }
  other:
    active: b
    versions:
      a: [{ action: x, resource: movie, role: reader }]
      b: [{ action: y, resource: movie, role: reader }]
`,
  );
  writeFileSync(
    join(folder, 'catalog.cases.yaml'),
    '- { principal: media.player, action: read, resource: movie, expect: allow }\n',
  );
  const { documents, cases } = readDocumentFolder(folder);
  const snapshot = plainSnapshot(
    [
      {
        name: 'catalog',
        roles: { reader: [{ name: 'media.player', disabled: false }] },
        rules: [['ALLOW', 'reader', 'read', 'movie']],
      },
    ],
    0,
  );
  t.deepEqual([...runCases(snapshot, cases, 0).deciding], ['catalog/rules/1']);
  const { covered, total, uncovered } = coverageOf(documents, new Set(['catalog/movies/1']));
  t.deepEqual([covered, total], [1, 3]);
  t.deepEqual(
    uncovered.map(({ line, field }) => ({ line, field })),
    [
      { line: 7, field: 'policies.Movies[1]' },
      { line: 12, field: 'policies.other.versions.b[0]' },
    ],
  );
});
