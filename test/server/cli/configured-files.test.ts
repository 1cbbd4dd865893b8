import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { openConfiguredFiles, requireUsableFiles } from '@signet/server/cli/config/configured-files';
import { initialise } from '@signet/server/cli/initialise';
import { loadConfig, type ServerConfig } from '@signet/server/config/config';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* Every file that a server opens at its start, with each thing that can be wrong with it: the option and the file are named, nothing of it is. */

const secret = 'very-secret-text';
const made = mkdtempSync(join(tmpdir(), 'signet-files-'));
const world = join(made, 'world');
const trustDomain = parseDomainName('signet.test');
await initialise(
  {
    folder: world,
    host: '127.0.0.1',
    port: 0,
    hosts: [],
    trustDomain,
    identities: [],
    actor: 'test',
    sealedKeys: true,
  },
  systemClock,
);
cpSync(join(world, 'ca', 'bundle.pem'), join(world, 'roots.pem'));
writeFileSync(join(world, 'old.key'), Buffer.alloc(32, 7), { mode: 0o600 });
const publicJwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' });
writeFileSync(join(world, 'ci.json'), JSON.stringify({ keys: [publicJwk] }));
writeFileSync(join(world, 'password'), 'swordfish\n', { mode: 0o600 });
const otherKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'pem', type: 'pkcs8' });
const foreignKey = generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
test.after.always(() => rmSync(made, { recursive: true }));

/** A configuration that names every file there can be, in a folder of its own. */
function copyOfWorld(t: ExecutionContext, flags: Readonly<Record<string, unknown>> = {}): ServerConfig {
  const folder = join(temporaryFolder(t), 'world');
  cpSync(world, folder, { recursive: true });
  const issuer = {
    provider: 'sys.auth.ci',
    issuer: 'i',
    audience: 'a',
    subject: '{domain}/{service}',
    keysFile: 'ci.json',
  };
  return loadConfig(
    join(folder, 'signet.yaml'),
    {},
    {
      'certificates.roots': 'roots.pem',
      'keys.previousSealingKeyFiles': ['old.key'],
      'instances.jwtIssuers': [issuer],
      'people.issuers': [
        { issuer: 'https://a.example', clientId: 'signet', subjects: { a: 'user.a' }, keysFile: 'people.json' },
        { issuer: 'https://b.example', clientId: 'signet', subjects: { b: 'user.b' }, ca: 'people-ca.pem' },
      ],
      'store.kind': 'postgres',
      'store.postgres.hosts': ['db.example:5432'],
      'store.postgres.passwordFile': 'password',
      'store.postgres.certificate': 'server.cert.pem',
      'store.postgres.key': 'server.key.pem',
      'store.postgres.ca': 'roots.pem',
      ...flags,
    },
  );
}

/** Separate files for each option but those that share a file of `world`. */
const files: Readonly<Record<string, { readonly file: string; readonly garbage: string }>> = {
  'tls.certificate': { file: 'server.cert.pem', garbage: 'holds no certificate in PEM form' },
  'tls.key': { file: 'server.key.pem', garbage: 'holds no private key in PEM form' },
  'tls.clientCa': { file: 'ca/bundle.pem', garbage: 'holds no certificate in PEM form' },
  'certificates.roots': { file: 'roots.pem', garbage: 'holds no certificate in PEM form' },
  'certificates.issuers.0.certificate': {
    file: 'ca/intermediate.cert.pem',
    garbage: 'holds no certificate in PEM form',
  },
  'certificates.issuers.0.key': {
    file: 'ca/intermediate.key.pem',
    garbage: 'holds no private key in PEM form',
  },
  'crl.roots.0': {
    file: 'ca/root.crl.pem',
    garbage: 'is not a revocation list of one of the roots in `certificates.roots`',
  },
  'instances.jwtIssuers.0.keysFile': { file: 'ci.json', garbage: 'is not a JWK set with keys' },
  'people.issuers.0.keysFile': { file: 'people.json', garbage: 'is not a JWK set with keys' },
  'people.issuers.1.ca': { file: 'people-ca.pem', garbage: 'holds no certificate in PEM form' },
  'ssh.hostAuthority': {
    file: 'ca/ssh-host.key.pem',
    garbage: 'holds no private key in PEM form',
  },
  'ssh.userAuthority': {
    file: 'ca/ssh-user.key.pem',
    garbage: 'holds no private key in PEM form',
  },
  'keys.sealingKeyFile': { file: 'sealing.key', garbage: 'must contain 32 random bytes, raw or in base64' },
  'keys.previousSealingKeyFiles.0': { file: 'old.key', garbage: 'must contain 32 random bytes, raw or in base64' },
  'store.postgres.passwordFile': { file: 'password', garbage: '' },
  'store.postgres.certificate': { file: 'postgres.cert.pem', garbage: 'holds no certificate in PEM form' },
  'store.postgres.key': {
    file: 'postgres.key.pem',
    garbage: 'holds no private key in PEM form',
  },
  'store.postgres.ca': { file: 'postgres-ca.pem', garbage: 'holds no certificate in PEM form' },
};
cpSync(join(world, 'server.cert.pem'), join(world, 'postgres.cert.pem'));
cpSync(join(world, 'server.key.pem'), join(world, 'postgres.key.pem'));
for (const name of ['postgres-ca.pem', 'people-ca.pem']) cpSync(join(world, 'ca', 'bundle.pem'), join(world, name));
cpSync(join(world, 'ci.json'), join(world, 'people.json'));
const own = {
  'store.postgres.certificate': 'postgres.cert.pem',
  'store.postgres.key': 'postgres.key.pem',
  'store.postgres.ca': 'postgres-ca.pem',
};

const faults: readonly (readonly [name: string, make: (file: string) => void, problem: string])[] = [
  ['missing', () => undefined, 'cannot be read: it does not exist'],
  ['a folder', (file) => mkdirSync(file), 'is a folder'],
  ['a pipe', (file) => execFileSync('mkfifo', [file]), 'is not a regular file'],
  ['a link to itself', (file) => symlinkSync(file, file), 'cannot be read: its symbolic links form a loop'],
  ['empty', (file) => writeFileSync(file, ''), 'is empty'],
];

test('files that are as they should be are no problem', (t) => {
  const config = copyOfWorld(t, own);
  t.deepEqual(openConfiguredFiles(config).problems, []);
  t.notThrows(() => requireUsableFiles(config));
});

for (const [option, { file, garbage }] of Object.entries(files)) {
  const all = [
    ...faults,
    ['garbage', (path: string) => writeFileSync(path, secret, { mode: 0o600 }), garbage] as const,
  ];
  for (const [name, make, problem] of all.filter(([, , text]) => text !== '')) {
    test(`${option}: ${name} is told with the option and the file`, (t) => {
      const config = copyOfWorld(t, own);
      const path = join(config.file, '..', file);
      rmSync(path);
      make(path);
      const line = `${option}: \`${path}\` ${problem}`;
      const error = t.throws(() => requireUsableFiles(config));
      t.is(error?.message, `configuration \`${config.file}\` cannot be used: ${line}`);
    });
  }
}

test('a file that this user may not read is told', (t) => {
  if (process.getuid?.() === 0) {
    t.log('skipped: root may read every file');
    return t.pass();
  }
  const config = copyOfWorld(t, own);
  chmodSync(config.tls.key, 0);
  const [problem] = openConfiguredFiles(config).problems;
  t.deepEqual(problem, {
    option: 'tls.key',
    file: config.tls.key,
    problem: 'cannot be read: this user may not read it',
  });
});

for (const [option, file, key, problem] of [
  ['tls.key', 'server.key.pem', otherKey, 'is not the private key of `tls.certificate`'],
  [
    'certificates.issuers.0.key',
    'ca/intermediate.key.pem',
    otherKey,
    'is not the private key of `certificates.issuers.0.certificate`',
  ],
  ['store.postgres.key', 'postgres.key.pem', otherKey, 'is not the private key of `store.postgres.certificate`'],
  ['ssh.hostAuthority', 'ca/ssh-host.key.pem', foreignKey, 'must be an Ed25519 or a P-256 key'],
] as const) {
  test(`${option}: another key is told`, (t) => {
    const config = copyOfWorld(t, own);
    const path = join(config.file, '..', file);
    writeFileSync(path, key);
    t.deepEqual(openConfiguredFiles(config).problems, [{ option, file: path, problem }]);
  });
}

test('every problem is told at once', (t) => {
  const config = copyOfWorld(t, own);
  for (const name of ['server.key.pem', 'ci.json', 'password']) rmSync(join(config.file, '..', name));
  const options = openConfiguredFiles(config).problems.map(({ option }) => option);
  t.deepEqual(options, ['tls.key', 'instances.jwtIssuers.0.keysFile', 'store.postgres.passwordFile']);
});

test('one SSH key for hosts and users, a sealing key that others may read, two lists of a root', (t) => {
  const config = copyOfWorld(t, { ...own, 'crl.roots': ['ca/root.crl.pem', 'ca/again.pem'] });
  const at = (name: string) => join(config.file, '..', name);
  cpSync(at('ca/ssh-host.key.pem'), at('ca/ssh-user.key.pem'));
  cpSync(at('ca/root.crl.pem'), at('ca/again.pem'));
  chmodSync(at('sealing.key'), 0o644);
  t.deepEqual(
    openConfiguredFiles(config).problems.map(({ option, problem }) => `${option} ${problem}`),
    [
      'crl.roots.1 is the second list of its root',
      'ssh.userAuthority must be another key than `ssh.hostAuthority`',
      'keys.sealingKeyFile can be read by others: its mode must be 0600',
    ],
  );
});

test('files that no server opens are not looked at', (t) => {
  const socket = copyOfWorld(t, {
    ...own,
    'store.postgres.hosts': ['/run/postgresql'],
    'store.postgres.ca': 'nowhere',
  });
  t.deepEqual(openConfiguredFiles(socket).problems, []);
  const alone = copyOfWorld(t, {
    ...own,
    'certificates.issuers': [],
    'people.issuers': [],
    'tls.renew': false,
    'crl.roots': ['nowhere'],
  });
  t.deepEqual(openConfiguredFiles(alone).problems, []);
});

test('an issuer that is no authority cannot be used', (t) => {
  const config = copyOfWorld(t, own);
  const at = (name: string) => join(config.file, '..', name);
  for (const kind of ['cert', 'key']) cpSync(at(`server.${kind}.pem`), at(`ca/intermediate.${kind}.pem`));
  const [problem] = openConfiguredFiles(config).problems;
  t.like(problem, {
    option: 'certificates.issuers.0.certificate',
    problem: 'cannot be used: its chain holds a certificate that is not an authority',
  });
});
