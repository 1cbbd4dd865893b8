import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { runSignetIn } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

/** Runs `signet` in a folder of its own, as in a terminal. */
function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'signet.yaml'), 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }\n');
  const write = (name: string, text: string) => {
    mkdirSync(join(folder, 'docs'), { recursive: true });
    writeFileSync(join(folder, 'docs', name), text);
  };
  const run = async (...args: readonly string[]) => {
    const { status, stdout: out, stderr: err } = await runSignetIn(folder, '--config', 'signet.yaml', ...args);
    return { status, out, err };
  };
  return { folder, write, run };
}

const catalog = `domain: catalog
roles:
  reader: { members: [media.player] }
policies:
  movies:
    - { action: read, resource: movie, role: reader }
`;
const good = '- { principal: media.player, action: read, resource: movie, expect: allow }\n';
const bad = '- { note: oh, principal: media.player, action: write, resource: movie, expect: allow }\n';

test('apply writes, says what, and keeps the reason', async (t) => {
  const { folder, write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  write('catalog.cases.yaml', good);
  write('media.yaml', 'domain: media\nservices: { player: {} }\n');
  t.deepEqual(await run('apply', 'docs', '--reason', 'first day'), {
    status: 0,
    out: 'catalog: created, version 1\nmedia: created, version 1\n1 cases passed\n',
    err: '',
  });
  const turned = await run('apply', 'docs', '--reason', 'first\u202eyad');
  t.deepEqual(
    [turned.status, turned.err],
    [1, 'signet: reason: must not hold control or format characters, and must have at most 1024 characters\n'],
  );
  t.deepEqual(await run('apply', 'docs', '--json'), {
    status: 0,
    out:
      '{"domains":[{"name":"catalog","outcome":"unchanged","version":1},{"name":"media","outcome":"unchanged","version":1}],' +
      '"casesPassed":1,"warnings":[]}\n',
    err: '',
  });
  const store = await openSqliteStore(join(folder, 'data', 'signet.db'));
  t.is((await store.domain(parseDomainName('catalog')))?.policyVersion, 1);
  t.is((await store.audit({ limit: 1 }))[0]?.reason, 'first day');
  await store.close();
});

test('apply refuses with the place, and with exit status 1', async (t) => {
  const { write, run } = openWorld(t);
  write('catalog.yaml', catalog.replace('role: reader', 'role: writer'));
  t.deepEqual(await run('apply', 'docs'), {
    status: 1,
    out: '',
    err:
      'signet: nothing was applied, problems in the documents: 1\n' +
      'docs/catalog.yaml:6:46: policies.movies[0].role: domain `catalog` has no role `writer`\n',
  });
});

test('apply refuses when policy tests fail, says that nothing was applied, and which tests they are', async (t) => {
  const { folder, write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  write('catalog.cases.yaml', good + bad.replace('oh', '"oh\\nno"') + bad);
  const [first, second] = [2, 3].map(
    (line) =>
      `docs/catalog.cases.yaml:${line}:3: [${line - 1}]: media.player write catalog:movie: ` +
      'expected allow, decided DENY_NO_MATCH (roles reader; no assertion matches)',
  );
  const err = `signet: nothing was applied, failing policy tests: 2\n${first}\n  oh\\u000ano\n${second}\n  oh\n`;
  t.deepEqual(await run('apply', 'docs'), { status: 1, out: '', err });
  const { out, ...rest } = await run('apply', 'docs', '--json');
  t.deepEqual(rest, { status: 1, err });
  t.like(JSON.parse(out), {
    applied: false,
    problems: [
      { file: 'docs/catalog.cases.yaml', line: 2, note: 'oh\nno', expected: 'allow', decided: 'DENY_NO_MATCH' },
      { file: 'docs/catalog.cases.yaml', line: 3, note: 'oh', expected: 'allow', decided: 'DENY_NO_MATCH' },
    ],
  });
  const store = await openSqliteStore(join(folder, 'data', 'signet.db'));
  t.deepEqual(await store.domainNames(), []);
  await store.close();
});

test('apply ends with 78 when the store is refused', async (t) => {
  const { folder, write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  writeFileSync(join(folder, 'data', 'signet.db'), 'something else', { mode: 0o600 });
  const { status, err } = await run('apply', 'docs');
  t.is(status, 78);
  t.regex(err, /^signet: store `.*signet\.db` is not a SQLite database\n$/);
});

test('test: all pass', async (t) => {
  const { write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  write('catalog.cases.yaml', good);
  t.deepEqual(await run('test', 'docs'), { status: 0, out: '1 passed, 0 failed\n', err: '' });
});

test('test: one fails', async (t) => {
  const { write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  write('catalog.cases.yaml', good + bad);
  const line =
    'docs/catalog.cases.yaml:2:3: [1]: media.player write catalog:movie: expected allow, decided DENY_NO_MATCH (roles reader; no assertion matches)';
  t.deepEqual(await run('test', 'docs'), { status: 1, out: `${line}\n  oh\n1 passed, 1 failed\n`, err: '' });
  const { status, out } = await run('test', 'docs', '--json');
  t.is(status, 1);
  t.like(JSON.parse(out), {
    passed: 1,
    failed: 1,
    failures: [{ note: 'oh', expected: 'allow', decided: 'DENY_NO_MATCH' }],
  });
});

test('test: no text of a case makes a line of its own', async (t) => {
  const { write, run } = openWorld(t);
  write('catalog.yaml', catalog);
  write('catalog.cases.yaml', bad.replace('note: oh', 'note: "oh\\n9 passed, 0 failed"'));
  const { out } = await run('test', 'docs');
  t.deepEqual(out.split('\n').slice(1), ['  oh\\u000a9 passed, 0 failed', '0 passed, 1 failed', '']);
});

test('no folder at all is a mistake of usage', async (t) => {
  const { run } = openWorld(t);
  t.is((await run('apply')).status, 2);
  t.is((await run('test')).status, 2);
  t.is((await run('test', 'nowhere')).status, 1);
});
