import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { domainContent } from '#support/domains';
import { runSignet } from '#support/run-signet';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

const storeCopy = (...args: readonly string[]) => runSignet('store', 'copy', ...args);

async function storeOf(file: string, name: string): Promise<string> {
  const store = await openSqliteStore(file);
  await store.change({ actor: 'local:jane' }, (change) => saveDomain(change, domainContent(name, {})));
  await store.close();
  return `sqlite:${file}`;
}

test('places are files, never addresses', async (t) => {
  for (const [place, problem] of [
    ['postgres://signet:secret@db/signet', /must name a file, not an address/],
    ['postgres:', /must be `sqlite:<file>` or `postgres:<configuration file>`/],
    ['/var/lib/signet.db', /must be `sqlite:<file>` or `postgres:<configuration file>`/],
    ['mysql:file', /must be `sqlite:<file>` or `postgres:<configuration file>`/],
  ] as const) {
    const { status, stdout, stderr } = await storeCopy('--from', place, '--to', 'sqlite:other.db');
    t.deepEqual([status, stdout], [2, '']);
    t.regex(stderr, problem);
  }
  const config = join(temporaryFolder(t), 'signet.yaml');
  writeFileSync(
    config,
    `tls: { certificate: a, key: b, clientCa: c }
certificates: { issuers: [{ certificate: d, key: e }], trustDomain: signet.test }
ssh: { hostAuthority: f, userAuthority: g }
`,
  );
  const { status, stderr } = await storeCopy('--from', `postgres:${config}`, '--to', 'sqlite:other.db');
  t.is(status, 2);
  t.regex(stderr, /`store\.kind` is not `postgres`/);
});

test('a copy says what it did, and a comparison which table differs', async (t) => {
  const folder = temporaryFolder(t);
  const [from, other] = [
    await storeOf(join(folder, 'one.db'), 'media'),
    await storeOf(join(folder, 'other.db'), 'films'),
  ];
  const to = `sqlite:${join(folder, 'copy.db')}`;
  const copied = await storeCopy('--from', from, '--to', to, '--json');
  t.is(copied.status, 0, copied.stderr);
  t.regex(copied.stderr, /^signet: warning: start servers with `sqlite:.*copy\.db` only/);
  const rehearsed = await storeCopy('--from', from, '--to', `${to}.rehearsed`, '--while-running');
  t.is(rehearsed.status, 0);
  t.regex(rehearsed.stderr, /^signet: warning: later changes in `sqlite:.*one\.db` are not in `[^\n]*\n$/);
  const { digest, rows, began } = JSON.parse(copied.stdout);
  t.is(began, 'new');
  const same = await storeCopy('--from', from, '--to', to, '--check');
  t.deepEqual([same.status, same.stdout], [0, `identical: ${rows} rows, digest ${digest}\n`]);
  const different = await storeCopy('--from', from, '--to', other, '--check', '--json');
  t.is(different.status, 1);
  t.like(JSON.parse(different.stdout), { differs: 'domains', from: { digest, rows } });
  const again = await storeCopy('--from', from, '--to', to);
  t.is(again.status, 1);
  t.regex(again.stderr, /holds a store: copy into an empty database or a file that does not exist/);

  // As after a command that was killed before it could say that it was done.
  const resumed = await storeCopy('--from', from, '--to', to, '--resume', '--json');
  t.deepEqual([resumed.status, JSON.parse(resumed.stdout)], [0, { ...JSON.parse(copied.stdout), began: 'resumed' }]);
  await storeOf(join(folder, 'copy.db'), 'music');
  const used = await storeCopy('--from', from, '--to', to, '--resume');
  t.is(used.status, 1);
  t.regex(used.stderr, /holds a store/, 'it is a store of its own by now');
});
