import { X509Certificate } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseTimestamp } from '@signet/policy-engine/clock';
import test, { type ExecutionContext } from 'ava';
import { signetScript } from '#support/dev-world';
import { openssl } from '#support/openssl';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

/* Authority of `signet init`, and the list of its root, renewed where its key is. */

function signet(...args: readonly string[]) {
  return runProgram(process.execPath, [signetScript, ...args]);
}

async function init(t: ExecutionContext, ...options: readonly string[]): Promise<string> {
  const folder = join(temporaryFolder(t), 'signet');
  const { status, stderr } = await signet('init', folder, '--identity', 'media.player', ...options);
  t.is(status, 0, stderr);
  return folder;
}

const chain = ['-CAfile', 'root.cert.pem', '-untrusted', 'intermediate.cert.pem'];

test('the list of the root is made with it, renewed offline, and keeps what it has revoked', async (t) => {
  const folder = await init(t);
  const ca = join(folder, 'ca');
  const list = join(ca, 'root.crl.pem');
  t.regex(readFileSync(join(folder, 'signet.yaml'), 'utf8'), /^crl:\n {2}roots:\n {4}- ca\/root\.crl\.pem$/m);
  t.is(statSync(list).mode & 0o777, 0o644);
  const show = async (...what: readonly string[]) => {
    const shown = await openssl(ca, 'crl', '-in', 'root.crl.pem', '-noout', '-CAfile', 'root.cert.pem', ...what);
    t.true(shown.output.includes('verify OK'), shown.output);
    return shown.output;
  };
  const number = async () => BigInt(/0x([0-9A-F]+)/.exec(await show('-crlnumber'))?.[0] ?? '0');
  const root = new X509Certificate(readFileSync(join(ca, 'root.cert.pem')));
  t.true((await show('-nextupdate')).includes(`nextUpdate=${root.validTo}`), 'as long as the root');
  const checked = () =>
    openssl(
      ca,
      'verify',
      '-x509_strict',
      '-crl_check_all',
      '-CRLfile',
      'root.crl.pem',
      ...chain,
      'intermediate.cert.pem',
    );
  t.is((await checked()).output, 'intermediate.cert.pem: OK\n');
  const first = await number();

  const files = ['--certificate', join(ca, 'root.cert.pem'), '--key', join(ca, 'root.key.pem'), '--out', list];
  const renew = (...more: readonly string[]) => signet('ca', 'root-crl', ...files, ...more, '--json');
  const short = JSON.parse((await renew('--days', '30')).stdout);
  t.deepEqual(short.revoked, []);
  t.true((parseTimestamp(short.nextUpdate) ?? 0) < root.validToDate.getTime());
  const second = await number();
  t.true(second > first);
  const revoking = await renew('--revoke', join(ca, 'intermediate.cert.pem'), '00:AB:cd', '--reason', 'superseded');
  const { serialNumber } = new X509Certificate(readFileSync(join(ca, 'intermediate.cert.pem')));
  t.deepEqual(JSON.parse(revoking.stdout).revoked, [serialNumber.toLowerCase(), 'abcd'], revoking.stderr);
  t.regex((await checked()).output, /certificate revoked/);
  const again = await renew('--revoke', 'abcd', '1');
  t.deepEqual(JSON.parse(again.stdout).revoked, [serialNumber.toLowerCase(), 'abcd', '01']);
  const passphrase = ['-aes256', '-passout', 'pass:correct horse battery'];
  await openssl(ca, 'pkey', '-in', 'root.key.pem', '-out', 'encrypted.pem', ...passphrase);
  writeFileSync(join(ca, 'passphrase'), 'correct horse battery\n', { mode: 0o600 });
  const unlocked = await renew('--key', join(ca, 'encrypted.pem'), '--passphrase-file', join(ca, 'passphrase'));
  t.is(unlocked.status, 0, unlocked.stderr);
  const text = await show('-text');
  t.is(text.match(/Superseded/g)?.length, 2, 'the reasons of before');
  t.true((await number()) > second);
});

test('a list of another authority is not written over, and what is no certificate of the root is not revoked', async (t) => {
  const [folder, other] = [await init(t), await init(t)];
  const at = (name: string) => join(folder, 'ca', name);
  const files = ['--certificate', at('root.cert.pem'), '--key', at('root.key.pem')];
  const list = at('root.crl.pem');
  copyFileSync(join(other, 'ca/root.crl.pem'), at('foreign.pem'));
  const before = [readFileSync(list), readFileSync(at('foreign.pem'))];
  const refused: readonly (readonly [says: RegExp, status: number, ...args: readonly string[]])[] = [
    [/is the list of another authority: it was not overwritten/, 2, '--out', at('foreign.pem')],
    [/is not a certificate of this root/, 2, '--out', list, '--revoke', join(folder, 'server.cert.pem')],
    [/neither a file nor a serial number/, 2, '--out', list, '--revoke', 'missing.pem'],
    [/must be a number of days from 1 to 36500/, 2, '--out', list, '--days', '0'],
    [/private key is not the one of its certificate/, 1, '--out', list, '--key', at('intermediate.key.pem')],
    [/required option '--out <file>'/, 2],
  ];
  for (const [says, status, ...args] of refused) {
    const done = await signet('ca', 'root-crl', ...files, ...args);
    t.is(done.status, status, `${args.join(' ')}: ${done.stderr}`);
    t.regex(done.stderr, says);
  }
  t.deepEqual([readFileSync(list), readFileSync(at('foreign.pem'))], before);
});

test('a root with an RSA key, made by openssl, gets its list as well', async (t) => {
  const folder = temporaryFolder(t);
  const made = [
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    'key.pem',
    '-out',
    'cert.pem',
    '-days',
    '90',
  ];
  t.true((await openssl(folder, ...made, '-subj', '/O=Elsewhere/CN=Root')).ok);
  const at = (name: string) => join(folder, name);
  const done = await signet(
    'ca',
    'root-crl',
    '--certificate',
    at('cert.pem'),
    '--key',
    at('key.pem'),
    '--out',
    at('list.pem'),
  );
  t.is(done.status, 0, done.stderr);
  t.true(
    (await openssl(folder, 'crl', '-in', 'list.pem', '-noout', '-CAfile', 'cert.pem')).output.includes('verify OK'),
  );
});

test('the issuing authority carries the SPIFFE id of its trust domain; constraints and addresses are by option', async (t) => {
  const plain = await init(t, '--trust-domain', 'corp.example');
  const read = (folder: string, name: string) => new X509Certificate(readFileSync(join(folder, name)));
  t.is(read(plain, 'ca/intermediate.cert.pem').subjectAltName, 'URI:spiffe://corp.example');
  t.is(read(plain, 'ca/root.cert.pem').subjectAltName, undefined);
  const extensions = async (folder: string, name: string) =>
    (await openssl(folder, 'x509', '-in', name, '-noout', '-ext', 'nameConstraints,crlDistributionPoints')).output;
  t.false(/Permitted|URI:http/.test(await extensions(plain, 'ca/intermediate.cert.pem')));

  const crlUrl = 'http://pki.corp.example/v1/crl/{issuer}';
  const names = ['--name-constraints', 'example.com', '10.0.0.0/8', 'fd00::/9', '--host-name', 'signet.example.org'];
  const folder = await init(t, '--trust-domain', 'corp.example', ...names, '--crl-url', crlUrl);
  const said = await extensions(folder, 'ca/intermediate.cert.pem');
  t.regex(said, /X509v3 Name Constraints: critical/);
  t.deepEqual(said.match(/(?:DNS|URI|email|IP):\S+/g), [
    'DNS:corp.example',
    'DNS:localhost',
    'DNS:signet.example.org',
    'DNS:example.com',
    'URI:corp.example',
    'email:corp.example',
    'IP:127.0.0.1/255.255.255.255',
    'IP:0:0:0:0:0:0:0:1/FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF:FFFF',
    'IP:10.0.0.0/255.0.0.0',
    'IP:FD00:0:0:0:0:0:0:0/FF80:0:0:0:0:0:0:0',
    `URI:${crlUrl.replace('{issuer}', await keyId(folder, 'ca/root.cert.pem'))}`,
  ]);
  t.true(
    (await extensions(folder, 'server.cert.pem')).includes(
      crlUrl.replace('{issuer}', await keyId(folder, 'ca/intermediate.cert.pem')),
    ),
  );
  t.true(readFileSync(join(folder, 'signet.yaml'), 'utf8').includes(`distributionPoints:\n    - ${crlUrl}\n`));
  const ca = ['-CAfile', 'ca/root.cert.pem', '-untrusted', 'ca/intermediate.cert.pem'];
  const made = ['server.cert.pem', 'identities/media.player.cert.pem'];
  t.is(
    (await openssl(folder, 'verify', '-x509_strict', ...ca, ...made)).output,
    made.map((name) => `${name}: OK\n`).join(''),
  );
});

async function keyId(folder: string, certificate: string): Promise<string> {
  const { output } = await openssl(folder, 'x509', '-in', certificate, '-noout', '-ext', 'subjectKeyIdentifier');
  return /(?:[0-9A-F]{2}:)+[0-9A-F]{2}/.exec(output)?.[0].replaceAll(':', '').toLowerCase() ?? '';
}

test('names and addresses that cannot be meant are refused before anything is made', async (t) => {
  const folder = join(temporaryFolder(t), 'signet');
  for (const [args, says] of [
    [['--name-constraints', '10.0.0.0/33'], /`10\.0\.0\.0\/33` is neither a DNS name nor a network/],
    [['--name-constraints', 'not a name'], /`not a name` is neither a DNS name nor a network/],
    [['--host-name', 'not a name'], /--host-name must be a DNS name or an address, got `not a name`/],
    [['--root', 'root.pem'], /--root, --issuer-cert and --issuer-key must be used together/],
    [['--root', 'a', '--issuer-cert', 'b', '--issuer-key', 'c', '--name-constraints'], /cannot be used with --root/],
    [['--crl-url', 'http://pki.example/crl'], /must hold `\{issuer\}` once/],
    [['--crl-url', 'ldap://pki.example/{issuer}'], /must be an http or https address/],
  ] as const) {
    const done = await signet('init', folder, ...args);
    t.is(done.status, 2);
    t.regex(done.stderr, says);
    t.false(existsSync(join(folder, 'signet.yaml')));
    t.false(existsSync(join(folder, 'ca', 'root.key.pem')));
  }
});
