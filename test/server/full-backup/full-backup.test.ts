import fs, {
  appendFileSync,
  existsSync,
  fstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { initialise } from '@signet/server/cli/initialise';
import { loadConfig } from '@signet/server/config/config';
import { ArchiveError, readArchive, writeArchive } from '@signet/server/full-backup/archive';
import { makeFullBackup, unpackFullBackup } from '@signet/server/full-backup/full-backup';
import { openStore } from '@signet/server/store/open';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { runProgram } from '#support/run-program';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

const clock = new FakeClock(1_795_392_000_000);
const passphrase = 'twelve chars';
/** Equally strong key, without the second that a passphrase costs. */
const identity = await generateX25519Identity();
const recipients = [await identityToRecipient(identity)];
const keyFor = (digest: string) => ({ identities: [identity], digest });
const context = { actor: 'local:test' };

/** A folder of `signet init` with a domain in its store, a document, and a secret that lies elsewhere. */
async function installed(t: ExecutionContext) {
  const folder = join(temporaryFolder(t), 'server');
  const { config } = await initialise(
    {
      folder,
      host: '127.0.0.1',
      port: 4443,
      hosts: [],
      trustDomain: parseDomainName('signet.test') as DomainName,
      identities: [],
      actor: 'test',
    },
    clock,
  );
  mkdirSync(join(folder, 'policies'), { recursive: true });
  writeFileSync(join(folder, 'policies', 'films.yaml'), 'domain: films\n');
  const elsewhere = join(temporaryFolder(t), 'roots.pem');
  writeFileSync(elsewhere, readFileSync(join(folder, 'ca', 'bundle.pem')));
  const environment = { SIGNET_CERTIFICATES_ROOTS: elsewhere };
  const loaded = loadConfig(config, environment);
  const store = await openStore(loaded.store, { clock });
  await store.change({ actor: 'test' }, async (change) => {
    await saveDomain(change, domainContent({ name: 'films' }));
  });
  await store.close();
  return { folder, loaded, elsewhere, work: temporaryFolder(t) };
}

test('what is unpacked is the same server, in a folder of its own', async (t) => {
  const { folder, loaded, elsewhere, work } = await installed(t);
  const file = join(work, 'all.backup');
  const { digest, files } = await makeFullBackup(loaded, file, { passphrase }, clock);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.true(files.includes('policies/films.yaml') && files.includes('data/keys/backup-seal.key'));
  t.false(
    files.some((name) => /root\.key/.test(name)),
    'the key of the root is no part of it',
  );
  t.false(readFileSync(file).includes('PRIVATE KEY'));

  const into = join(work, 'deep', 'again');
  const { config, epoch } = await unpackFullBackup(file, into, { key: { passphrase, digest }, clock, context });
  t.is(config, join(into, 'signet.yaml'));
  const restored = loadConfig(config);
  t.deepEqual(
    readFileSync(restored.certificates.roots),
    readFileSync(elsewhere),
    'of the environment, and from elsewhere',
  );
  for (const name of [
    'server.key.pem',
    'ca/intermediate.key.pem',
    'ca/ssh-user.key.pem',
    'data/keys/backup-seal.key',
  ]) {
    t.deepEqual(readFileSync(join(into, name)), readFileSync(join(folder, name)), name);
    t.is(statSync(join(into, name)).mode & 0o777, 0o600, name);
  }
  t.is(statSync(into).mode & 0o777, 0o700);
  const store = await openStore(restored.store, { clock });
  t.teardown(() => store.close());
  const state = await store.state();
  t.deepEqual([state.epoch], [epoch]);
  t.deepEqual(await store.audit({ limit: 1 }).then(([record]) => record?.actor), 'local:test');
  t.deepEqual(readdirSync(work).sort(), ['all.backup', 'deep'], 'nothing else is left');
  t.deepEqual(readdirSync(join(work, 'deep')), ['again']);
});

test('everything that is unpacked is on the disk before it has its name', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  const { digest } = await makeFullBackup(loaded, file, { recipients }, clock);
  const into = join(work, 'restored');
  const [before, after] = [new Set<number>(), new Set<number>()];
  const sync = fs.fsyncSync;
  fs.fsyncSync = (descriptor) => {
    sync(descriptor);
    (existsSync(into) ? after : before).add(fstatSync(descriptor).ino);
  };
  syncBuiltinESMExports();
  try {
    await unpackFullBackup(file, into, { key: keyFor(digest), clock, context });
  } finally {
    fs.fsyncSync = sync;
    syncBuiltinESMExports();
  }
  const names = ['.', ...readdirSync(into, { recursive: true, encoding: 'utf8' })];
  t.true(names.length > 10);
  t.deepEqual(
    names.filter((name) => !before.has(statSync(join(into, name)).ino)),
    [],
  );
  t.true(after.has(statSync(dirname(into)).ino), 'and its name is there');
});

test('a tool of age and tar read it', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  const { digest } = await makeFullBackup(loaded, file, { recipients }, clock);
  const into = join(work, 'again');
  const unpacked = await unpackFullBackup(file, into, { key: keyFor(digest), clock, context });
  t.is(unpacked.config, join(into, 'signet.yaml'));
  writeFileSync(join(work, 'key'), `${identity}\n`, { mode: 0o600 });
  const age = await runProgram('/bin/sh', ['-c', `command -v age && age -d -i key all.backup | tar tz`], { cwd: work });
  if (age.status === 127 || age.stdout === '') return t.log('age is not installed: read by the library alone');
  t.regex(age.stdout, /\.\/signet\.yaml\n/);
  t.regex(age.stdout, /\.\/data\/signet\.backup\n/);
});

test('what is not whole, not ours or not opened leaves nothing', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  const { digest } = await makeFullBackup(loaded, file, { recipients }, clock);
  const bytes = readFileSync(file);
  const bad = join(work, 'bad.backup');
  const into = join(work, 'again');
  const refused = async (key: Parameters<typeof unpackFullBackup>[2]['key'], pattern: RegExp, what: string) => {
    const error = await t.throwsAsync(
      unpackFullBackup(bad, into, { key, clock, context }),
      { instanceOf: ArchiveError },
      what,
    );
    t.regex(error?.message ?? '', pattern, what);
    t.false(existsSync(into), what);
  };
  writeFileSync(bad, bytes);
  await refused({ passphrase }, /the key does not open it/, 'a passphrase');
  await refused({ identities: [await generateX25519Identity()], digest }, /the key does not open it/, 'another key');
  await refused(keyFor('0'.repeat(64)), /another digest/, 'another digest');
  for (const length of [0, 1, 100, 200, bytes.length - 65_536, bytes.length - 17, bytes.length - 1]) {
    writeFileSync(bad, bytes);
    truncateSync(bad, length);
    await refused(keyFor(digest), /cannot be read/, `cut off at ${length}`);
  }
  for (const at of [30, 300, bytes.length >> 1, bytes.length - 1]) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    writeFileSync(bad, changed);
    await refused(keyFor(digest), /cannot be read|digest/, `changed at ${at}`);
  }
  writeFileSync(bad, bytes);
  appendFileSync(bad, 'x');
  await refused(keyFor(digest), /cannot be read/, 'a byte more');
  t.deepEqual(readdirSync(work).sort(), ['all.backup', 'bad.backup'], 'nothing is left of the attempts');
});

test('an archive of another digest is not opened, and nothing is written', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  await makeFullBackup(loaded, file, { recipients }, clock);
  const empty = temporaryFolder(t);
  // The key would not open it: the digest is compared before.
  const key = { identities: [await generateX25519Identity()], digest: '0'.repeat(64) };
  await t.throwsAsync(readArchive(file, empty, key), { instanceOf: ArchiveError, message: /has another digest/ });
  t.deepEqual(readdirSync(empty), []);
});

test('an archive holds files and folders that its list names, and nothing else', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  const { digest } = await makeFullBackup(loaded, file, { recipients }, clock);
  const cases: Readonly<Record<string, (folder: string) => void>> = {
    'a link': (folder) => symlinkSync('/etc/passwd', join(folder, 'link')),
    'a file more': (folder) => writeFileSync(join(folder, 'more'), ''),
    'a file that is another one': (folder) => writeFileSync(join(folder, 'server.key.pem'), 'x'),
    'zeros without end': (folder) => {
      writeFileSync(join(folder, 'zeros'), '');
      truncateSync(join(folder, 'zeros'), 65 * 1024 * 1024);
    },
    'ten thousand files': (folder) => {
      for (let at = 0; at < 10_000; at += 1) writeFileSync(join(folder, `more-${at}`), '');
    },
    'no list': (folder) => writeFileSync(join(folder, 'backup.json'), '{}'),
  };
  for (const [what, change] of Object.entries(cases)) {
    const folder = join(work, 'unpacked');
    await unpackFullBackup(file, folder, { key: keyFor(digest), clock, context });
    const repacked = join(work, `${what}.backup`);
    change(folder);
    const key = keyFor(await writeArchive(repacked, folder, { recipients }));
    const into = join(work, 'again');
    const error = await t.throwsAsync(unpackFullBackup(repacked, into, { key, clock, context }), undefined, what);
    t.true(error instanceof ArchiveError, what);
    if (/zeros|thousand/.test(what)) t.regex(error?.message ?? '', /contains more than \d+ (?:bytes|files)/);
    t.false(existsSync(into), what);
    await runProgram('/bin/rm', ['-r', folder]);
  }
});

test('nothing is overwritten', async (t) => {
  const { loaded, work } = await installed(t);
  const file = join(work, 'all.backup');
  await makeFullBackup(loaded, file, { recipients }, clock);
  await t.throwsAsync(makeFullBackup(loaded, file, { recipients }, clock), { message: /exists already/ });
  await t.throwsAsync(unpackFullBackup(file, work, { key: keyFor(''), clock, context }), { message: /not empty/ });
  await t.throwsAsync(makeFullBackup(loaded, join(work, 'b'), { recipients: ['age1none'] }, clock), {
    message: /not a recipient of age/,
  });
  t.deepEqual(readdirSync(work), ['all.backup']);
});
