import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { ask, askHidden, askWhether } from '@signet/server/cli/ask';
import { parseAdministrator, systemDocument } from '@signet/server/cli/init/administrator';
import { baseUrlOf } from '@signet/server/cli/init/base-url';
import { commandName, quote } from '@signet/server/cli/init/command-name';
import { describeInitialised, nextSteps } from '@signet/server/cli/init/next-steps';
import { postgresSettings } from '@signet/server/cli/init/postgres-options';
import { profileOf } from '@signet/server/cli/init/profile-option';
import { type Initialised, type InitialiseOptions, initialise } from '@signet/server/cli/initialise';
import { openPrivateKey, readPassphrase } from '@signet/server/cli/passphrase';
import { loadConfig } from '@signet/server/config/config';
import { openStore } from '@signet/server/store/open';
import test, { type ExecutionContext } from 'ava';
import { parse as parseYaml } from 'yaml';
import { signetScript } from '#support/dev-world';
import { firstServerCommands } from '#support/first-server';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';
import { refusal } from '../../limits/row.ts';

const usual = { host: '127.0.0.1', port: 4443, hosts: [], identities: [], actor: 'local:test' };
const jane = parsePrincipalName('user.jane');

function optionsFor(t: ExecutionContext, more: Partial<InitialiseOptions> = {}): InitialiseOptions {
  const folder = join(temporaryFolder(t), 'server');
  return { ...usual, folder, trustDomain: parseDomainName('signet.test'), administrator: jane, ...more };
}

const addresses: readonly (readonly [
  note: string,
  given: Partial<Parameters<typeof baseUrlOf>[0]>,
  expected: string | RegExp | undefined,
])[] = [
  ['on loopback', {}, 'https://localhost:4443/v1'],
  ['by the first name', { hostNames: ['a.example', 'b.example'] }, 'https://a.example:4443/v1'],
  ['by an address of version 6', { hostNames: ['fd00::1'] }, 'https://[fd00::1]:4443/v1'],
  ['at the usual port', { port: 443, hostNames: ['a.example'] }, 'https://a.example/v1'],
  ['as given', { host: '0.0.0.0', baseUrl: 'https://a.example/api/' }, 'https://a.example/api'],
  ['for others, by a name', { host: '::', hostNames: ['a.example'] }, 'https://a.example:4443/v1'],
  [
    'for others, without a name',
    { host: '0.0.0.0' },
    /^--host 0\.0\.0\.0 accepts connections from other machines: .*--host-name/,
  ],
  [
    'for others, at a free port',
    { host: '10.0.0.1', port: 0, hostNames: ['a.example'] },
    /--base-url https:\/\/signet/,
  ],
  ['on loopback at a free port', { port: 0 }, undefined],
  ['of the profile athenz', { profile: 'athenz' }, 'https://localhost:4443/zts/v1'],
  [
    'of the profile athenz for others',
    { host: '::', profile: 'athenz' },
    /--base-url https:\/\/signet\.example\.com:4443\/zts\/v1/,
  ],
  ['malformed', { baseUrl: 'http://a.example' }, /^--base-url must be an https address/],
  ['of a user', { baseUrl: 'https://jane@a.example' }, /^--base-url must be an https address/],
  ['of many hosts', { baseUrl: 'https://*.example/v1' }, /^--base-url must have the name of one host/],
];
for (const [note, given, expected] of addresses) {
  test(`what clients call, ${note}`, (t) => {
    const call = () => baseUrlOf({ host: '127.0.0.1', port: 4443, hostNames: [], ...given });
    if (expected instanceof RegExp) t.throws(call, { name: 'UsageError', message: expected });
    else t.is(call(), expected);
  });
}

test('the first administrator is a user or a service of sys.auth, and not the server', (t) => {
  t.deepEqual(
    ['user.jane', 'sys.auth.operator', 'User.Jane', 'jane'].map((name) => parseAdministrator(name)),
    ['user.jane', 'sys.auth.operator', 'user.jane', 'user.jane'] as never,
  );
  for (const name of ['sys.auth.server', 'films.api', 'user.jane.doe', 'user.*']) {
    t.throws(() => parseAdministrator(name), undefined, name);
  }
});

test('a service that administers is registered, a user is not', (t) => {
  t.true(
    systemDocument(parsePrincipalName('sys.auth.ops')).endsWith(
      "  ops:\n    description: The first operator's identity\n",
    ),
  );
  t.false(systemDocument(jane).includes('  jane:'));
});

const made: Initialised = {
  config: 'server/signet.yaml',
  baseUrl: 'https://localhost:4443/v1',
  trustDomain: 'signet.local',
  caBundle: 'server/ca/bundle.pem',
  root: { fingerprint: 'AA:BB', key: 'server/ca/root.key.pem', isEncrypted: false },
  administrator: {
    name: 'user.jane',
    certificate: 'server/identities/user.jane.cert.pem',
    key: 'server/identities/user.jane.key.pem',
    notAfter: '2027-01-01T00:00:00.000Z',
    client: 'server/identities/user.jane.yaml',
    policy: 'server/policies/sys.auth.yaml',
  },
};

test('what signet init prints as next are commands of the guide, in its order', (t) => {
  const { serve, after } = firstServerCommands();
  const printed = nextSteps(made, 'signet').flatMap(({ commands }) => commands);
  const guide = (serve + after).split('\n').filter((line) => printed.includes(line));
  t.deepEqual(guide, printed);
  t.true(printed.length >= 12);
});

test('what is printed names the program as the shell finds it, and words as the shell reads them', (t) => {
  const spaced = { ...made, config: "/srv/jane's server/signet.yaml", trustDomain: 'corp.example' };
  const text = describeInitialised(spaced, '/opt/signet/bin/signet.js');
  t.true(text.includes(`\n/opt/signet/bin/signet.js serve --config '/srv/jane'\\''s server/signet.yaml'\n`));
  t.regex(text, /identity once .* --trust-domain corp\.example\n/);
  t.deepEqual(nextSteps({ ...made, baseUrl: null }, 'signet').length, 1, 'a free port is not known yet');
  t.regex(text, /^key of root {4}server\/ca\/root\.key\.pem, not encrypted$/m);
});

test('the program is called by its name, by npx in a checkout, and else by its path', (t) => {
  const folder = temporaryFolder(t);
  const at = (...parts: readonly string[]) => join(folder, ...parts);
  for (const name of ['bin', 'checkout/node_modules/.bin', 'checkout/below', 'elsewhere']) {
    mkdirSync(at(name), { recursive: true });
  }
  const script = at('signet.js');
  writeFileSync(script, '', { mode: 0o700 });
  writeFileSync(at('elsewhere/signet'), '', { mode: 0o700 });
  for (const name of ['bin', 'checkout/node_modules/.bin']) symlinkSync(script, at(name, 'signet'));
  const called = (cwd: string, ...path: readonly string[]) =>
    commandName({ script, cwd: at(cwd), path: path.map((name) => at(name)).join(':') });
  t.is(called('elsewhere', 'bin'), 'signet');
  t.is(called('checkout/below'), 'npx signet');
  t.is(called('elsewhere', 'checkout/node_modules/.bin'), script, 'npx sets that path, the shell has another one');
  t.is(called('elsewhere', 'elsewhere'), script, 'another program of the name');
  chmodSync(script, 0o600);
  t.is(called('elsewhere'), `node ${script}`);
  t.is(quote(''), "''");
});

test('a server is made whole: its names, its administrator, and certificates that can be revoked', async (t) => {
  const options = optionsFor(t, { baseUrl: 'https://signet.example.com/v1', hosts: ['10.1.2.3'] });
  const { administrator, root, ...rest } = await initialise(options, systemClock);
  const at = (name: string) => join(options.folder, name);
  t.deepEqual(rest, {
    config: at('signet.yaml'),
    baseUrl: 'https://signet.example.com/v1',
    trustDomain: 'signet.test',
    caBundle: at('ca/bundle.pem'),
  });
  t.is(root.fingerprint, new X509Certificate(readFileSync(at('ca/root.cert.pem'))).fingerprint256);
  const server = new X509Certificate(readFileSync(at('server.cert.pem')));
  for (const host of ['signet.example.com', 'localhost']) t.is(server.checkHost(host), host);
  t.is(server.checkIP('10.1.2.3'), '10.1.2.3');
  t.is(statSync(at('policies')).mode & 0o777, 0o700);

  const own = new X509Certificate(readFileSync(administrator?.certificate ?? ''));
  t.is(own.subject, 'CN=user.jane');
  t.deepEqual(own.keyUsage, ['1.3.6.1.5.5.7.3.2'], 'for clients');
  t.true(own.checkPrivateKey(createPrivateKey(readFileSync(administrator?.key ?? ''))));
  const store = await openStore({ kind: 'sqlite', file: at('data/signet.db') });
  t.teardown(() => store.close());
  for (const { serialNumber } of [own, server]) {
    t.like(await store.certificates.find(serialNumber.toLowerCase()), { state: 'issued' });
  }
  t.deepEqual([...new Set((await store.audit({ limit: 100 })).map(({ actor }) => actor))], ['local:test']);
});

test('without an administrator the store stays empty', async (t) => {
  const options = optionsFor(t, { administrator: undefined, port: 0 });
  t.is((await initialise(options, systemClock)).administrator, undefined);
  t.false(existsSync(join(options.folder, 'policies')));
});

test('a run that fails leaves the folder as it was, and the next one succeeds', async (t) => {
  const options = optionsFor(t);
  mkdirSync(join(options.folder, 'ca'), { recursive: true, mode: 0o700 });
  writeFileSync(join(options.folder, 'notes'), 'mine');
  // Read back from the server's certificate, when store and signing keys are there.
  const unfit = { baseUrl: 'https://a.example/v1', hosts: ['not a name'] };
  await t.throwsAsync(initialise({ ...options, ...unfit }, systemClock), { message: /a character that no name has/ });
  t.deepEqual(readdirSync(options.folder, { recursive: true }).toSorted(), ['ca', 'notes']);
  await initialise(options, systemClock);

  const other = optionsFor(t);
  await t.throwsAsync(initialise({ ...other, ...unfit }, systemClock));
  t.false(existsSync(other.folder), 'a folder that was not there is not there');
});

test('of several runs in one folder, one makes a server and the others leave it alone', async (t) => {
  const options = optionsFor(t);
  const ended = await Promise.allSettled(Array.from({ length: 3 }, () => initialise(options, systemClock)));
  const made = ended.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const refusals = ended.flatMap((each) => (each.status === 'rejected' ? [String(each.reason.message)] : []));
  t.is(made.length, 1);
  t.deepEqual(new Set(refusals), new Set([`another command is creating a server in \`${options.folder}\``]));
  const names = ['ca', 'data', 'identities', 'policies', 'schemas', 'server.cert.pem', 'server.key.pem', 'signet.yaml'];
  t.deepEqual(readdirSync(options.folder).sort(), names);
  const store = await openStore({ kind: 'sqlite', file: join(options.folder, 'data', 'signet.db') });
  t.teardown(() => store.close());
  t.deepEqual((await store.signingKeys()).map(({ purpose }) => purpose).sort(), ['bundle', 'bundle', 'token', 'token']);
});

test('nothing is overwritten, and what an earlier run left is named', async (t) => {
  const { folder, ...options } = optionsFor(t);
  for (const [name, message] of [
    ['signet.yaml', /signet\.yaml` exists: nothing was overwritten$/],
    ['identities/a', /remove `identities` and run it again$/],
    ['policies/films.yaml', /remove `identities`, `policies` and run it again$/],
    ['server.key.pem', /remove `identities`, `policies`, `server\.key\.pem` and run it again$/],
  ] as const) {
    const other = join(folder, name === 'signet.yaml' ? 'whole' : 'half');
    mkdirSync(join(other, name, '..'), { recursive: true });
    writeFileSync(join(other, name), 'mine');
    await t.throwsAsync(initialise({ ...options, folder: other }, systemClock), { name: 'UsageError', message });
    t.is(readFileSync(join(other, name), 'utf8'), 'mine');
  }
});

test('the key of the root is encrypted with a passphrase, and opened by it again', async (t) => {
  const options = optionsFor(t, { rootPassphrase: 'correct horse battery' });
  const { root } = await initialise(options, systemClock);
  t.true(root.isEncrypted);
  const file = root.key ?? '';
  const pem = readFileSync(file, 'utf8');
  const passphrase = (text: string, mode = 0o600) => {
    const path = join(options.folder, `passphrase-${mode}-${text.length}`);
    writeFileSync(path, text, { mode });
    return path;
  };
  const opened = await openPrivateKey(file, pem, passphrase('correct horse battery\n'));
  const certificate = new X509Certificate(readFileSync(join(options.folder, 'ca/root.cert.pem')));
  t.true(certificate.checkPrivateKey(createPrivateKey(opened)));
  t.is(await openPrivateKey(file, opened, undefined), opened, 'without one that is not encrypted');
  t.regex(
    await refusal(() => openPrivateKey(file, pem, passphrase('another passphrase'))),
    /cannot be opened with this/,
  );
  t.regex(await refusal(() => openPrivateKey(file, pem, undefined)), /is encrypted: use --passphrase-file/);
  for (const [text, mode, message] of [
    ['eleven char', 0o600, /one line of 12 to 1024 characters/],
    ['x'.repeat(1025), 0o600, /one line of 12 to 1024 characters/],
    ['two lines of\ntext here', 0o600, /one line of 12 to 1024 characters/],
    ['correct horse battery ', 0o644, /can be read by others/],
  ] as const) {
    t.throws(() => readPassphrase(passphrase(text, mode)), { name: 'UsageError', message });
  }
  t.is(readPassphrase(passphrase('x'.repeat(1024))).length, 1024);
  t.is(readPassphrase(passphrase('x'.repeat(12))).length, 12);
});

test('on a terminal, what is missing is asked for, and a passphrase is not shown', async (t) => {
  const terminal = () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    return { input, output, shown: () => String(output.read() ?? '') };
  };
  const [first, second, third, fourth] = [terminal(), terminal(), terminal(), terminal()];
  for (const [{ input }, text] of [
    [first, 'user.jane\n'],
    [second, '\n'],
    [third, 'correct horse\n'],
  ] as const) {
    input.write(text);
  }
  t.is(await ask('Who', 'sys.auth.operator', first), 'user.jane');
  t.is(await ask('Who', 'sys.auth.operator', second), 'sys.auth.operator');
  t.is(await askHidden('Passphrase: ', third), 'correct horse');
  t.is(third.shown(), 'Passphrase: \n');
  fourth.input.end();
  for (const [typed, answer] of [
    ['\n', false],
    ['no\n', false],
    ['N\n', false],
    ['Yes\n', true],
    ['y\n', true],
  ] as const) {
    const fifth = terminal();
    fifth.input.write(typed);
    t.is(await askWhether('Open?', fifth), answer, typed);
    t.regex(fifth.shown(), /Open\? \[no\]: /);
  }
  const sixth = terminal();
  sixth.input.write('perhaps\n');
  await t.throwsAsync(askWhether('Open?', sixth), {
    name: 'UsageError',
    message: 'answer: must be yes or no, got `perhaps`',
  });
  await t.throwsAsync(ask('Who', 'nobody', fourth), { message: 'the prompt was not answered' });
});

test('where the database is follows from options with files for what is secret', (t) => {
  t.is(postgresSettings({}), undefined);
  const settings = postgresSettings({
    postgres: ['db.example:5433'],
    postgresPasswordFile: 'secret',
    postgresUser: 'jane',
  });
  t.like(settings, { database: 'signet', user: 'jane', passwordFile: join(process.cwd(), 'secret'), migrate: 'auto' });
  t.deepEqual(settings?.hosts, ['db.example:5433']);
  for (const [options, message] of [
    [{ postgresUser: 'jane' }, /^--postgres is required with the other PostgreSQL options$/],
    [{ postgres: ['db'], postgresCert: 'c' }, /^--postgres-cert and --postgres-key must be used together$/],
    [{ postgres: ['db:99999999'] }, /^--postgres: must be host:port or the folder of a socket$/],
    [{ postgres: ['db'], postgresUser: '' }, /^--postgres-user: Too small/],
  ] as const) {
    t.throws(() => postgresSettings(options), { name: 'UsageError', message });
  }
});

const settings: [note: string, options: Partial<InitialiseOptions>, expected: object][] = [
  ['as usual', {}, { profile: 'signet', baseUrl: 'https://localhost:4443/v1' }],
  ['keys for anyone', { anonymousKeys: true }, { profile: 'signet', anonymousKeys: true }],
  ['keys for holders of a certificate', { anonymousKeys: false }, { profile: 'signet' }],
  ['the profile athenz', { profile: 'athenz' }, { profile: 'athenz', baseUrl: 'https://localhost:4443/zts/v1' }],
];
for (const [note, options, expected] of settings) {
  test(`what a new server is configured with: ${note}`, async (t) => {
    const { config } = await initialise(optionsFor(t, options), systemClock);
    const values = parseYaml(readFileSync(config, 'utf8'));
    t.like(values, expected);
    t.is('anonymousKeys' in values, 'anonymousKeys' in expected);
    const read = loadConfig(config, {});
    t.is(read.profile.name, values.profile);
    t.is(read.anonymousKeys, options.anonymousKeys === true || options.profile === 'athenz');
  });
}

test('the profile of the environment is one that there is', (t) => {
  t.is(profileOf({}), undefined);
  t.is(profileOf({ SIGNET_PROFILE: '' }), undefined);
  t.is(profileOf({ SIGNET_PROFILE: 'athenz' }), 'athenz');
  for (const name of ['Athenz', 'toString', '__proto__']) {
    const message = `SIGNET_PROFILE must be one of signet, athenz, got \`${name}\``;
    t.throws(() => profileOf({ SIGNET_PROFILE: name }), { name: 'UsageError', message });
  }
});

/** Types an answer to each question that a program asks on a terminal of its own, and prints what the terminal shows. */
const typing = `
import json, os, pty, sys
answers, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
shown = b''
while True:
    try:
        part = os.read(terminal, 4096)
    except OSError:
        break
    if not part:
        break
    shown += part
    if answers and answers[0][0].encode() in shown:
        os.write(terminal, answers.pop(0)[1].encode() + b'\\r')
        shown = b''
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({'status': status, 'left': answers, 'shown': shown.decode()}))
`;
const passphrase = ['(empty: not encrypted): ', ''];
const question = 'Allow them to read public keys and metadata? [no]: ';
const dialogues: [note: string, args: string[], answers: string[][], expected: object][] = [
  [
    'yes',
    [],
    [['administrator', 'user.jane'], passphrase, [question, 'yes']],
    { profile: 'signet', anonymousKeys: true },
  ],
  ['the default', ['--operator', 'user.jane'], [passphrase, [question, '']], { profile: 'signet' }],
  ['not asked with the option', ['--operator', 'user.jane', '--anonymous-keys'], [passphrase], { anonymousKeys: true }],
  ['not asked where it is on', ['--operator', 'user.jane', '--profile', 'athenz'], [passphrase], { profile: 'athenz' }],
];
for (const [note, args, answers, expected] of dialogues) {
  test(`on a terminal signet init asks who may read keys and metadata: ${note}`, async (t) => {
    const folder = join(temporaryFolder(t), 'server');
    const command = [process.execPath, signetScript, 'init', folder, ...args];
    const { stdout } = await runProgram('python3', ['-c', typing, JSON.stringify(answers), ...command]);
    const { status, left } = JSON.parse(stdout);
    t.deepEqual([status, left], [0, []], stdout);
    const values = parseYaml(readFileSync(join(folder, 'signet.yaml'), 'utf8'));
    t.like(values, expected);
    t.is('anonymousKeys' in values, 'anonymousKeys' in expected);
  });
}

test('signet init is made for the profile of the environment, and says which words there are', async (t) => {
  const folder = join(temporaryFolder(t), 'server');
  const init = (profile: string, ...more: string[]) =>
    runProgram(process.execPath, [signetScript, 'init', folder, '--json', ...more], {
      env: { ...process.env, SIGNET_PROFILE: profile },
    });
  const bad = await init('athens');
  const error = 'SIGNET_PROFILE must be one of signet, athenz, got `athens`';
  t.deepEqual([bad.status, JSON.parse(bad.stderr)], [2, { error }]);
  t.is((await init('', '--profile', 'athens')).status, 2);
  t.false(existsSync(folder));
  t.is(JSON.parse((await init('athenz')).stdout).baseUrl, 'https://localhost:4443/zts/v1');
  t.is(parseYaml(readFileSync(join(folder, 'signet.yaml'), 'utf8')).profile, 'athenz');
});
