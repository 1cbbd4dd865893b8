import { X509Certificate } from 'node:crypto';
import { closeSync, openSync, readSync, renameSync, writeFileSync, writeSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { field, json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { ecPair, requestPem } from '#support/requests';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import { type Answer, type Caller, form } from '#support/start-server';
import { until } from '#support/until';

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });
const load = '^/management/v1/domains/load';

async function callers({ pki }: Installation, serving: Serving) {
  const as = async (name: string) => serving.as(await pki.identity(name));
  return { operator: await as('sys.auth.operator'), player: await as('media.player') };
}

function addRole(operator: Caller, name: string): Promise<Answer> {
  return operator(`${load}/roles/${name}`, json({ members: ['media.player'] }, 'PUT'));
}

async function publishedKeys(player: Caller) {
  const { body } = await player('/oauth2/keys?rfc=true');
  return body as Parameters<typeof createLocalJWKSet>[0];
}

async function roleCertificate(player: Caller): Promise<X509Certificate> {
  const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
  return new X509Certificate(
    String(field((await player('/domain/catalog/role/reader/token', json({ csr }))).body, 'token')),
  );
}

test('two servers on one store, started at once: each sees what the other does, and no number comes twice', async (t) => {
  const installation = await install(t, { domains: loadDomains });
  const both = await Promise.all([serve(t, installation), serve(t, installation)]);
  const [one, two] = await Promise.all(both.map((serving) => callers(installation, serving)));
  if (one === undefined || two === undefined) return t.fail();

  // Both began without keys: whoever signs, both tell verifiers of it.
  const tokens = await Promise.all([one, two].map(async ({ player }) => (await player('/oauth2/token', token)).body));
  await until('both publish the same keys', async () => {
    const [first, second] = await Promise.all([publishedKeys(one.player), publishedKeys(two.player)]);
    return JSON.stringify(first) === JSON.stringify(second);
  });
  const keys = createLocalJWKSet(await publishedKeys(two.player));
  for (const body of tokens) await t.notThrowsAsync(jwtVerify(String(field(body, 'access_token')), keys));

  const changes = [one, two].flatMap(({ operator }, side) =>
    Array.from({ length: 10 }, (_, index) => addRole(operator, `r${side}x${index}`)),
  );
  t.deepEqual([...new Set((await Promise.all(changes)).map(({ status }) => status))], [201]);
  for (const [{ player }, role] of [
    [one, 'r1x9'],
    [two, 'r0x9'],
  ] as const) {
    const asked = form({ grant_type: 'client_credentials', scope: `load:role.${role}` });
    await until(
      'each grants what the other was told',
      async () => (await player('/oauth2/token', asked)).status === 200,
    );
  }
  const listed = await Promise.all([one, two].map(({ operator }) => operator(`${load}/roles?limit=100`)));
  t.is(listed[0]?.text, listed[1]?.text);

  const certificates = await Promise.all(
    [one, two].flatMap(({ player }) => Array.from({ length: 5 }, () => roleCertificate(player))),
  );
  t.is(new Set(certificates.map(({ serialNumber }) => serialNumber)).size, 10);
  const lists = await Promise.all([one, two].map(async ({ player }) => (await player('/crl')).status));
  t.deepEqual(lists, [200, 200]);
  t.is((await installation.signet('store', 'check')).status, 0);
  t.is((await installation.signet('audit', 'verify')).status, 0);
  t.deepEqual(await Promise.all(both.map((serving) => serving.end())), [0, 0]);
});

const obstacles: readonly (readonly [
  note: string,
  set: (file: string) => void,
  clear: (file: string) => void,
  message: string,
])[] = [
  [
    'cannot be audited',
    (file) => change(file, 'alter table audit rename to gone'),
    (file) => change(file, 'alter table gone rename to audit'),
    'the store cannot be read or written',
  ],
  [
    'has lost its file',
    (file) => renameSync(file, `${file}.away`),
    (file) => renameSync(`${file}.away`, file),
    'the file of the store is gone',
  ],
  [
    'was replaced by something else',
    (file) => {
      renameSync(file, `${file}.away`);
      writeFileSync(file, 'no store at all, but a text', { mode: 0o600 });
    },
    (file) => renameSync(`${file}.away`, file),
    'the store is corrupt',
  ],
  ['has corrupt pages', turnLogOver, turnLogOver, 'the store is corrupt'],
];

const logPages = new Map<string, readonly number[]>();

/** Inverts the pages of the audit log; done twice, they are as before. */
function turnLogOver(file: string): void {
  const pages = logPages.get(file) ?? findLogPages(file);
  logPages.set(file, pages);
  const descriptor = openSync(file, 'r+');
  const bytes = Buffer.alloc(4096);
  for (const page of pages) {
    const at = (page - 1) * bytes.length;
    readSync(descriptor, bytes, 0, bytes.length, at);
    writeSync(
      descriptor,
      bytes.map((byte) => 255 - byte),
      0,
      bytes.length,
      at,
    );
  }
  closeSync(descriptor);
  // Who has the file open looks at its pages again.
  change(file, 'update meta set created_at = created_at + 1');
}

function findLogPages(file: string): number[] {
  const database = new Database(file, { timeout: 60_000 });
  database.pragma('wal_checkpoint(truncate)');
  const pages = database.prepare("select pageno from dbstat where name = 'audit'").pluck().all().map(Number);
  database.close();
  return pages;
}

function change(file: string, sql: string): void {
  const database = new Database(file, { timeout: 60_000 });
  database.exec(sql);
  database.close();
}

for (const [note, set, clear, message] of obstacles) {
  test(`a store that ${note}: changes are refused, reads go on, and it is over by itself`, async (t) => {
    const installation = await install(t, { domains: loadDomains });
    const serving = await serve(t, installation);
    const { operator, player } = await callers(installation, serving);
    t.is((await addRole(operator, 'before')).status, 201);
    set(installation.storeFile);
    const refused = await addRole(operator, 'meanwhile');
    t.deepEqual([refused.status, refused.headers['retry-after'], refused.body], [503, '5', { code: 503, message }]);
    await readsGoOn(t, player);
    clear(installation.storeFile);
    t.is((await addRole(operator, 'after')).status, 201);
    const { text } = await operator(`${load}/roles`);
    t.deepEqual(
      ['before', 'meanwhile', 'after'].map((name) => text.includes(name)),
      [true, false, true],
    );
    t.is((await installation.signet('audit', 'verify')).status, 0);
    t.is(await serving.end(), 0);
  });
}

async function readsGoOn(t: ExecutionContext, player: Caller): Promise<void> {
  for (const [path, options] of [
    ['/oauth2/token', token],
    ['/access/read?resource=catalog:movie', undefined],
    ['/domain/catalog/policy/signed', undefined],
    ['/oauth2/keys', undefined],
    ['/readyz', undefined],
  ] as const) {
    const { status, text } = await player(path, options);
    t.is(status, 200, `${path}: ${text}`);
  }
}

test('more connections than there are file descriptors: the server lives, and answers when they are gone', async (t) => {
  const installation = await install(t, { domains: loadDomains });
  const serving = await serve(t, installation, { limits: 'ulimit -n 128' });
  const { operator } = await callers(installation, serving);
  t.is((await addRole(operator, 'before')).status, 201);
  const { port } = new URL(serving.baseUrl);
  const sockets: TLSSocket[] = [];
  let failed = 0;
  for (let index = 0; index < 250; index += 1) {
    const socket = connect({ port: Number(port), host: '127.0.0.1', rejectUnauthorized: false });
    socket.on('error', () => {
      failed += 1;
    });
    socket.on('close', () => undefined);
    sockets.push(socket);
  }
  await until('some find no room', () => failed > 0);
  for (const socket of sockets) socket.destroy();
  await until('it answers again', async () => {
    const again = await callers(installation, serving);
    return (await again.player('/oauth2/token', token).catch(() => undefined))?.status === 200;
  });
  const again = await callers(installation, serving);
  t.is((await addRole(again.operator, 'after')).status, 201);
  t.is(await serving.end(), 0);
});
