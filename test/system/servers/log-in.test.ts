import { chownSync, copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresSettings } from '@signet/server/config/store-place';
import { openPostgresStore } from '@signet/server/store/postgres/open-postgres';
import test, { type ExecutionContext } from 'ava';
import { repository, signetScript } from '#support/dev-world';
import { freePort } from '#support/free-port';
import { openssl } from '#support/openssl';
import { noPostgres, type PostgresServer, postgresPrograms, startPostgres, startStandby } from '#support/postgres';
import { runProgram } from '#support/run-program';
import { type Installation, install } from '#support/signet-program';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* Exit and message of a server that cannot use its database. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

const password = 'correct-horse-battery';

/** `signet serve` with another database, to its end. */
async function serveTo(installation: Installation, store: PostgresSettings) {
  const file = join(installation.folder, 'other.yaml');
  const text = readFileSync(installation.config, 'utf8');
  const line = `store: { kind: postgres, postgres: ${JSON.stringify(store)} }`;
  writeFileSync(
    file,
    text.replace(/^store: .*$/m, () => line),
  );
  return runProgram(process.execPath, [signetScript, 'serve', '--config', file], { cwd: repository });
}

/** An authority `<name>.pem` and what it has signed, in a folder. */
async function authority(folder: string, name: string, leaves: Readonly<Record<string, string>>): Promise<void> {
  const make = async (...args: readonly string[]) => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const { ok, output } = await openssl(folder, 'req', '-x509', ...key, ...args);
    if (!ok) throw new Error(output);
  };
  await make('-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.pem`);
  for (const [leaf, subject] of Object.entries(leaves)) {
    const names = ['-subj', `/CN=${subject}`, '-addext', `subjectAltName=DNS:${subject}`];
    const signer = ['-CA', `${name}.pem`, '-CAkey', `${name}.key`];
    await make(
      ...signer,
      ...names,
      '-addext',
      'basicConstraints=critical,CA:false',
      '-keyout',
      `${leaf}.key`,
      '-out',
      `${leaf}.pem`,
    );
  }
}

/** Has the server read files of its data folder, and settings, again. */
async function configure(
  server: PostgresServer,
  files: Readonly<Record<string, string>>,
  settings: readonly string[] = [],
): Promise<void> {
  const { uid, gid } = statSync(server.data);
  for (const [name, from] of Object.entries(files)) {
    copyFileSync(from, join(server.data, name));
    chownSync(join(server.data, name), uid, gid);
  }
  for (const setting of settings) await server.query('postgres', `alter system set ${setting}`);
  await server.query('postgres', 'select pg_reload_conf()');
}

/** A server that lets in over TLS: `by_password` with the password, `by_certificate` with a certificate of `clients`. */
async function startGuarded(t: ExecutionContext) {
  const port = await freePort();
  const server = await startPostgres(t, ['listen_addresses=127.0.0.1', `port=${port}`]);
  const database = await server.createDatabase();
  const installation = await install(t, { domains: [{ name: 'a' }], store: server.settings(database) });
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  await authority(folder, 'ca', { server: 'localhost' });
  await authority(folder, 'clients', { client: 'by_certificate' });
  await authority(folder, 'renewed', { 'new-client': 'by_certificate' });
  const rules = [
    'local all all trust',
    'hostssl all by_certificate all cert',
    'host all by_password all scram-sha-256',
  ];
  writeFileSync(at('hba'), `${rules.join('\n')}\n`);
  const files = {
    'server.crt': at('server.pem'),
    'server.key': at('server.key'),
    'clients.crt': at('clients.pem'),
    'pg_hba.conf': at('hba'),
  };
  await configure(server, files, ['ssl = on', "ssl_ca_file = 'clients.crt'"]);
  await server.query('postgres', `create role by_password login superuser password '${password}'`);
  await server.query('postgres', 'create role by_certificate login superuser');
  writeFileSync(at('password'), `${password}\n`);
  writeFileSync(at('wrong'), 'another-secret\n');
  const settings = (changed: Partial<PostgresSettings>): PostgresSettings => ({
    ...server.settings(database),
    hosts: [`localhost:${port}`],
    user: 'by_password',
    passwordFile: at('password'),
    ca: at('ca.pem'),
    ...changed,
  });
  return { server, database, installation, at, port, settings };
}

postgresTest('a log-in that fails ends the start with 78, and tells no secret', async (t) => {
  t.timeout(300_000);
  const { installation, at, port, settings } = await startGuarded(t);
  const certificate = { user: 'by_certificate', passwordFile: undefined, certificate: at('client.pem') };
  for (const changed of [{}, { ...certificate, key: at('client.key') }]) {
    await t.notThrowsAsync(openPostgresStore(settings(changed)).then((store) => store.close()));
  }
  const where = `\`localhost:${port}/store_1\``;
  for (const [changed, message] of [
    [{ passwordFile: at('wrong') }, `database ${where} rejected the login of this server (SQLSTATE 28P01)`],
    [
      { passwordFile: at('nowhere') },
      `configuration \`${join(installation.folder, 'other.yaml')}\` cannot be used: store.postgres.passwordFile: \`${at('nowhere')}\` cannot be read: it does not exist`,
    ],
    [
      { database: 'nowhere' },
      `database \`localhost:${port}/nowhere\` rejected the login of this server (SQLSTATE 3D000)`,
    ],
    [
      { ca: at('clients.pem') },
      `the certificate of database ${where} is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE): check \`store.postgres.ca\``,
    ],
    [
      { hosts: [`127.0.0.1:${port}`] },
      `the certificate of database \`127.0.0.1:${port}/store_1\` is not trusted (ERR_TLS_CERT_ALTNAME_INVALID): check \`store.postgres.ca\``,
    ],
    [
      { ...certificate, certificate: undefined },
      `database ${where} rejected the login of this server (SQLSTATE 28000)`,
    ],
    [
      { ...certificate, certificate: at('new-client.pem'), key: at('new-client.key') },
      `database ${where} does not trust the certificate of this server (ERR_SSL_TLSV1_ALERT_UNKNOWN_CA): check \`store.postgres.certificate\``,
    ],
  ] as const) {
    const { status, stderr } = await serveTo(installation, settings(changed));
    t.deepEqual([status, stderr], [78, `signet: ${message}\n`]);
    for (const secret of [password, 'another-secret']) t.false(stderr.includes(secret));
  }
});

postgresTest('a certificate that is replaced counts from the next connection on', async (t) => {
  const { server, database, at, settings } = await startGuarded(t);
  const own = { certificate: at('own.pem'), key: at('own.key') };
  const take = (name: string) => {
    for (const kind of ['pem', 'key']) copyFileSync(at(`${name}.${kind}`), at(`own.${kind}`));
  };
  take('client');
  const store = await openPostgresStore(settings({ user: 'by_certificate', passwordFile: undefined, ...own }));
  t.teardown(() => store.close());
  take('new-client');
  await configure(server, { 'clients.crt': at('renewed.pem') });
  const end = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1';
  await server.query('postgres', end, [database]);
  await until('it is let in', () =>
    store.state().then(
      () => true,
      () => false,
    ),
  );
  t.is((await store.state()).epoch, 1);
});

postgresTest(
  'a standby is refused where it stands alone, and a database that is away is waited for by others',
  async (t) => {
    t.timeout(300_000);
    const primary = await startPostgres(t);
    const database = await primary.createDatabase();
    const installation = await install(t, { domains: [{ name: 'a' }], store: primary.settings(database) });
    const standby = await startStandby(t, primary);
    const alone = await serveTo(installation, primary.settings(database, { hosts: [standby.host] }));
    t.deepEqual([alone.status, alone.stderr], [78, `signet: database server \`${standby.host}\` is a standby\n`]);
    const both = primary.settings(database, { hosts: [standby.host, primary.host] });
    await t.notThrowsAsync(openPostgresStore(both).then((store) => store.close()));
    const none = await serveTo(installation, primary.settings(database, { hosts: [standby.host, standby.host] }));
    const nobody = 'signet: all database servers are standbys: changes are not possible now\n';
    t.deepEqual([none.status, none.stderr], [75, nobody]);
    await primary.kill();
    const away = await serveTo(installation, both);
    t.is(away.status, 75, away.stderr);
    t.regex(away.stderr, /^signet: the database is not reachable \((ECONNREFUSED|ENOENT)\)\n$/);
  },
);
