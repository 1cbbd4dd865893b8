import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { newestRecords, recordsAfter, storeSource } from '@signet/server/cli/audit-source';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { managementWorld, send } from '#support/management-world';
import { runSignet } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* Lists of audit records, narrowed and followed, over the API and from the store. */

const world = await managementWorld();
const { base, server, operator, boss, guest, newDomain } = world;
const at = (name: string) => join(server.folder, name);
const { certificate, key } = await server.pki.identity('media.boss');
writeFileSync(at('boss.cert.pem'), certificate);
writeFileSync(at('boss.key.pem'), key);
test.after.always(world.end);

const idsOf = (body: unknown): number[] => Object(body).items.map(({ id }: { id: number }) => id);

test('changes are listed by who did them, when, and after which one', async (t) => {
  const domain = await newDomain('listed');
  const from = formatTimestamp(systemClock.now());
  const names = ['a', 'b', 'c'];
  for (const name of names) await boss(`${domain}/groups/${name}`, send('PUT', { members: ['user.joe'] }));
  const all = (await boss(`${domain}/changes`)).body;
  const [c = 0, b = 0, a = 0, made = 0] = idsOf(all);
  const ask = async (query: string) => idsOf((await boss(`${domain}/changes?${query}`)).body);
  t.deepEqual(await ask('actor=media.boss'), [c, b, a]);
  t.deepEqual(await ask('actor=media.guest'), []);
  t.deepEqual(await ask(`since=${from}`), [c, b, a]);
  t.deepEqual(await ask(`until=${from}`), [made]);
  t.deepEqual(await ask(`after=${made}`), [a, b, c]);
  t.deepEqual(await ask(`after=${a}&actor=media.boss&limit=1`), [b]);
  const pages = await boss(`${domain}/changes?after=0&limit=3`);
  t.deepEqual(idsOf(pages.body), [made, a, b]);
  const cursor = encodeURIComponent(Object(pages.body).next);
  t.deepEqual(await ask(`after=0&limit=3&cursor=${cursor}`), [c]);
  const everywhere = await operator(`${base}/changes?subject=listed&actor=media.boss`);
  t.deepEqual(idsOf(everywhere.body), [c, b, a]);
});

const refused: readonly (readonly [query: string, says: string])[] = [
  ['after=x', 'after must be the id of a record, or 0'],
  ['after=-1', 'after must be the id of a record, or 0'],
  ['since=yesterday', 'since must be a UTC time such as `2027-01-01T00:00:00Z`'],
  ['until=1', 'until must be a UTC time such as `2027-01-01T00:00:00Z`'],
];

for (const [query, says] of refused) {
  test(`refused: ${query}`, async (t) => {
    const { status, body } = await operator(`${base}/changes?${query}`);
    t.deepEqual([status, Object(body).message], [400, says]);
  });
}

test('all changes are for system operators, those of a domain for who may look at it', async (t) => {
  const domain = await newDomain('mine');
  t.is((await boss(`${base}/changes?actor=media.boss`)).status, 403);
  t.is((await guest(`${domain}/changes?after=0`)).status, 403);
  t.is((await boss(`${domain}/changes?subject=sys.auth`)).status, 400);
});

test('of what no index has a page looks at 5,000 records, and the next one goes on', async (t) => {
  const clock = new FakeClock();
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'), { clock });
  t.teardown(() => store.close());
  const record = (actor: string, count: number) =>
    store.change({ actor }, async (transaction) => {
      for (let index = 0; index < count; index += 1) await transaction.noteRefusedCredentials({ x: index + 1 });
    });
  await record('rare', 1);
  const first = (await store.audit({ limit: 1 }))[0];
  clock.advance(1000);
  await record('usual', 5000);
  let looked = 0;
  const page = (query: object) =>
    store.auditPage({ limit: 10, actor: 'rare', ...query, looked: (rows) => (looked += rows) });
  const none = await page({});
  t.deepEqual([none.records, none.next, looked], [[], (first?.id ?? 0) + 1, 5000]);
  t.deepEqual((await page({ before: none.next })).records, [first] as never);
  // So many in a row from before the time asked for: nothing else is looked for.
  t.is((await page({ since: clock.now() + 1 })).next, undefined);
  const source = storeSource(store);
  t.deepEqual(await Array.fromAsync(newestRecords(source, { actor: 'rare' }, 5), ({ id }) => id), [
    first?.id as number,
  ]);
  const following = await Array.fromAsync(recordsAfter(source, {}, (first?.id ?? 0) + 4900));
  t.is(following.length, 100);
  t.true(following.every(({ id }, index) => id === (first?.id ?? 0) + 4901 + index));
});

const program = join(import.meta.dirname, '..', '..', '..', 'server', 'bin', 'signet.js');
const asBoss = ['--cert', at('boss.cert.pem'), '--key', at('boss.key.pem'), '--ca', at('bundle.pem')];

/** `signet audit …`; answers what it printed. */
async function run(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runSignet('audit', ...args);
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

test('commands list, export and follow the records of a domain over the API', async (t) => {
  t.timeout(240_000);
  const domain = await newDomain('told');
  const change = (name: string) => boss(`${domain}/groups/${name}`, send('PUT', { members: ['user.joe'] }));
  await change('a');
  const own = ['--domain', 'told', '--url', server.baseUrl, ...asBoss];
  const [listed] = JSON.parse(await run('list', ...own, '--actor', 'media.boss', '--since', '1h', '--json'));
  t.like(listed, { actor: 'media.boss', subject: 'told', after: { groups: [{ name: 'a' }] } });
  const lines = (await run('export', ...own)).trim().split('\n');
  t.deepEqual(
    lines.map((line) => JSON.parse(line).action),
    ['create', 'change'],
  );
  t.deepEqual(JSON.parse(lines[1] ?? ''), listed);
  const state = ['--state', at('exported')];
  const { before: _, after: __, ...brief } = listed;
  t.deepEqual(JSON.parse((await run('export', ...own, ...state, '--brief')).split('\n')[1] ?? ''), brief);
  t.is(await run('export', ...own, ...state), '');

  const child = spawn(process.execPath, [program, 'audit', 'export', ...own, ...state, '--follow'], {
    cwd: server.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const told = once(createInterface({ input: child.stdout }), 'line');
  await change('b');
  t.like(JSON.parse(String((await told)[0])), { actor: 'media.boss', after: { groups: [{ name: 'b' }] } });
  const ended = once(child, 'close');
  child.kill('SIGTERM');
  t.deepEqual(await ended, [0, null]);
  t.is(await run('export', ...own, ...state), '', 'what was followed is not told again');
});

test('rsyslog takes what is exported as RFC 5424', async (t) => {
  t.timeout(240_000);
  if (['rsyslogd', 'logger'].some((name) => spawnSync(name, ['--version']).error !== undefined)) {
    t.log('rsyslogd or logger is not installed: nothing was checked');
    return t.pass();
  }
  await newDomain('shipped');
  const folder = temporaryFolder(t);
  const file = (name: string) => join(folder, name);
  writeFileSync(
    file('rsyslog.conf'),
    `global(workDirectory="${folder}" maxMessageSize="64k")
module(load="imtcp")
input(type="imtcp" address="127.0.0.1" port="0" listenPortFileName="${file('port')}" supportOctetCountedFraming="on")
template(name="parsed" type="string" string="%protocol-version% %app-name% %msgid% %msg%\n")
action(type="omfile" file="${file('received')}" template="parsed")
`,
  );
  const daemon = spawn('rsyslogd', ['-n', '-f', file('rsyslog.conf'), '-i', file('pid')], { stdio: 'ignore' });
  t.teardown(() => daemon.kill('SIGKILL'));
  const read = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
  const port = await until('it listens', () => read('port').trim() || undefined);
  const exported = await run('export', '--brief', '--domain', 'shipped', '--url', server.baseUrl, ...asBoss);
  const sent = ['--rfc5424', '--tcp', '--octet-count', '--server', '127.0.0.1', '--port', port, '--size', '8192'];
  const logger = spawn('logger', [...sent, '--tag', 'signet-audit', '--msgid', 'audit'], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  logger.stdin.end(exported);
  t.deepEqual(await once(logger, 'close'), [0, null]);
  const received = await until('it has arrived', () => /^1 signet-audit audit (.*)\n/.exec(read('received'))?.[1]);
  t.deepEqual(JSON.parse(received), JSON.parse(exported));
  t.like(JSON.parse(received), { action: 'create', subject: 'shipped' });
});

test('records about a name: its own, those of its certificates, and its entries in roles and groups', async (t) => {
  const domain = await newDomain('known');
  await boss(`${domain}/roles/reader`, send('PUT', { members: [] }));
  await boss(`${domain}/groups/team`, send('PUT', { members: ['user.joe', 'user.jan'] }));
  await boss(`${domain}/roles/reader/members/user.joe`, send('PUT', {}));
  await boss(`${domain}/roles/reader/members/user.jane`, send('PUT', {}));
  await boss(`${domain}/policies/p`, send('PUT', [{ action: 'read', resource: 'user.joe', role: 'reader' }]));
  await boss(`${domain}/groups/team/members/user.jan`, { method: 'DELETE' });
  const [out = 0, _policy, jane = 0, joe = 0, team = 0] = idsOf((await boss(`${domain}/changes`)).body);
  const ask = async (name: string, more = '') => idsOf((await boss(`${domain}/changes?about=${name}${more}`)).body);
  t.deepEqual(await ask('user.joe'), [joe, team]);
  t.deepEqual(await ask('USER.joe'), [joe, team]);
  t.deepEqual(await ask('user.jan'), [out, team]);
  t.deepEqual(await ask('user_joe'), []);
  t.deepEqual(await ask('user.jane'), [jane]);
  t.is((await ask('media.boss')).length, 7, 'it is their actor, and became the administrator');
  const page = (await boss(`${domain}/changes?about=user.joe&limit=1`)).body;
  t.deepEqual(idsOf(page), [joe]);
  const rest = (await boss(`${domain}/changes?about=user.joe&limit=1&cursor=${Object(page).next}`)).body;
  t.deepEqual([idsOf(rest), Object(rest).next], [[team], undefined]);
  t.deepEqual(await ask('user.joe', `&after=${team}`), [joe]);
  const everywhere = await operator(`${base}/changes?about=user.joe`);
  t.deepEqual(
    idsOf(everywhere.body).filter((id) => [joe, team].includes(id)),
    [joe, team],
  );
});

test('records about a certificate are found by its holder, those of a service by its name', async (t) => {
  const serial = 'cd'.repeat(16);
  const row = {
    serial,
    issuer: 'i',
    kind: 'user',
    subject: 'user.zoe',
    holder: parsePrincipalName('user.zoe'),
    notBefore: 1,
    notAfter: 4_000_000_000,
  } as const;
  await server.store.certificates.intend(row, 1);
  await operator(`${base}/certificates/${serial}/revocation`, send('PUT', { reason: 'superseded' }));
  const found = (await operator(`${base}/changes?about=user.zoe`)).body;
  t.like(Object(found).items, [{ action: 'revoke-certificate', subject: serial }]);
  const domain = await newDomain('served');
  await boss(`${domain}/services/api`, send('PUT', {}));
  await boss(`${domain}/services/api`, { method: 'DELETE' });
  const ended = (await operator(`${base}/changes?about=served.api`)).body;
  t.like(Object(ended).items, [{ action: 'end-service', subject: 'served:service.api' }]);
});

test('records about a name do not tell who is in roles that the caller may not look at', async (t) => {
  const domain = await newDomain('guarded');
  await boss(`${domain}/roles/viewers`, send('PUT', { members: ['media.guest'] }));
  const view = (resource: string) => ({ action: 'view_domain', resource, role: 'viewers' });
  await boss(`${domain}/policies/view`, send('PUT', [view('domain'), view('role.open')]));
  for (const [role, member] of [
    ['secret', 'user.joe'],
    ['open', 'user.joe'],
    ['secret', 'user.ann'],
  ]) {
    await boss(`${domain}/roles/${role}`, send('PUT', {}));
    t.is((await boss(`${domain}/roles/${role}/members/${member}`, send('PUT', {}))).status, 201);
  }
  const all = (await boss(`${domain}/changes?about=user.joe`)).body;
  t.is(idsOf(all).length, 2);
  const seen = (await guest(`${domain}/changes?about=user.joe&limit=1`)).body;
  t.is(idsOf(seen).length, 1);
  t.is(Object(seen).next, undefined, 'hidden records are not counted');
  t.deepEqual(idsOf((await guest(`${domain}/changes?about=user.ann`)).body), []);
  t.is(idsOf((await boss(`${domain}/changes?about=user.ann`)).body).length, 1);
});

for (const about of ['a%20b', '%22', 'x'.repeat(257), '%25']) {
  test(`refused: about=${about}`, async (t) => {
    const { status, body } = await operator(`${base}/changes?about=${about}`);
    t.deepEqual([status, Object(body).message], [400, 'about must be a name of at most 256 characters']);
  });
}
