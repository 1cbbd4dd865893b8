import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parsePrincipalName } from '@signet/policy-engine/names';
import test from 'ava';
import { managementWorld } from '#support/management-world';
import { runSignetIn } from '#support/run-signet';

/* Questions that commands ask a server with a client configuration, and the configured store without one: the answers are the same. */

const world = await managementWorld();
const { server } = world;
await server.save({
  name: 'films',
  roles: { admin: ['media.boss'], reader: ['media.player', 'user.ann', 'media.edit*'] },
  policies: {
    rules: [
      ['ALLOW', 'reader', 'read', 'film'],
      [
        'ALLOW',
        'reader',
        'stream',
        'film',
        { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'foyer' } } }] },
      ],
    ],
  },
});
const at = (name: string) => join(server.folder, name);
for (const [name, principal] of [
  ['operator', 'sys.auth.operator'],
  ['boss', 'media.boss'],
  ['guest', 'media.guest'],
]) {
  const { certificate, key } = await server.pki.identity(principal ?? '');
  writeFileSync(at(`${name}.pem`), certificate);
  writeFileSync(at(`${name}.key`), key ?? '');
  const settings = { baseUrl: server.baseUrl, certificate: `${name}.pem`, key: `${name}.key`, caBundle: 'bundle.pem' };
  writeFileSync(at(`${name}.yaml`), JSON.stringify(settings));
}
writeFileSync(at('store.yaml'), `${readFileSync(at('signet.yaml'), 'utf8')}dataDir: .\n`);
test.after.always(world.end);

const from = (config: string, ...args: readonly string[]) =>
  runSignetIn(server.folder, ...args, '--config', at(`${config}.yaml`));

const serial = 'ef'.repeat(16);
const issue = async (number: string) => {
  const holder = parsePrincipalName('media.guest');
  const life = { notBefore: 1_000_000_000, notAfter: 4_000_000_000 };
  const row = { serial: number, issuer: 'i', kind: 'service' as const, subject: holder, holder, ...life };
  await server.store.certificates.intend(row, 1_000_000_000);
  await server.store.certificates.confirm(number, `f${number}`);
};

// PostgreSQL has no file that a second configuration could name.
const isSqlite = process.env['SIGNET_TEST_STORE'] !== 'postgres';

for (const [name, args, status] of [
  ['explain', ['access', 'explain', 'read', 'films:film', '--principal', 'media.player'], 0],
  ['explain a denial', ['access', 'explain', 'write', 'films:film', '--principal', 'media.player'], 1],
  [
    'explain with a context',
    ['access', 'explain', 'stream', 'films:film', '--principal', 'user.ann', '--context', 'instances=foyer'],
    0,
  ],
  ['who', ['access', 'who', 'read', 'films:film'], 0],
  ['list', ['access', 'list', '--principal', 'media.player'], 0],
  ['who may do nothing', ['access', 'who', 'write', 'films:film'], 0],
] as const) {
  test.serial(`access: ${name}`, async (t) => {
    for (const json of [[], ['--json']]) {
      const asked = await from('operator', ...args, ...json);
      t.is(asked.status, status, asked.stderr);
      if (isSqlite) t.deepEqual(asked, await from('store', ...args, ...json));
    }
  });
}

test.serial('rights are those of the certificate', async (t) => {
  const refused = await from('guest', 'access', 'who', 'read', 'films:film');
  t.deepEqual([refused.status, refused.stderr], [1, 'signet: `media.guest` may not look at `films:*`\n']);
  const own = await from('guest', 'access', 'explain', 'read', 'films:film', '--principal', 'media.guest');
  t.is(own.status, 1);
  t.regex(own.stdout, /^not granted/);
});

test.serial('certificates are listed, shown and revoked by their holder', async (t) => {
  await issue(serial);
  const listed = await from('guest', 'certificate', 'list', '--holder', 'media.guest', '--json');
  t.like(JSON.parse(listed.stdout), [{ serial, holder: 'media.guest', state: 'issued' }]);
  const other = await from('boss', 'certificate', 'show', serial);
  t.deepEqual([other.status, other.stderr], [1, 'signet: there is no such certificate\n']);
  const revoked = await from(
    'guest',
    'certificate',
    'revoke',
    serial.toUpperCase(),
    '--reason',
    'superseded',
    '--json',
  );
  t.regex(JSON.parse(revoked.stdout).state, /^revoked \S+ \(superseded\)$/);
  t.deepEqual((await from('guest', 'certificate', 'show', serial, '--json')).stdout, revoked.stdout);
  t.is((await from('guest', 'certificate', 'list', '--holder', 'media.guest', '--json')).stdout, '[]\n');
  const all = ['certificate', 'list', '--holder', 'media.guest', '--all'];
  t.regex((await from('guest', ...all)).stdout, /superseded/);
  if (isSqlite) t.deepEqual(await from('guest', ...all), await from('store', ...all));
  const records = await from('operator', 'audit', 'list', '--about', 'media.guest', '--json');
  t.like(JSON.parse(records.stdout)[0], { action: 'revoke-certificate', subject: serial, actor: 'media.guest' });
  if (isSqlite) {
    const stored = await from('store', 'audit', 'list', '--about', 'MEDIA.guest', '--json');
    t.deepEqual(
      JSON.parse(stored.stdout).map(({ id }: { id: number }) => id),
      JSON.parse(records.stdout).map(({ id }: { id: number }) => id),
    );
  }
});

test.serial('a malformed serial number or holder is a mistake of usage, wherever it is looked for', async (t) => {
  for (const config of isSqlite ? ['guest', 'store'] : ['guest']) {
    const refused = await from(config, 'certificate', 'show', 'xyz');
    t.is(refused.stderr, 'signet: serial must be at most 40 hexadecimal digits, with or without colons\n');
    t.is(refused.status, 2);
    t.is((await from(config, 'certificate', 'list', '--holder', 'a..b')).status, 2);
  }
});
