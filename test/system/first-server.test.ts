import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { localActor } from '@signet/server/cli/local-user';
import test from 'ava';
import { followFirstServer } from '#support/first-server';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

const isInstalled = spawnSync('openssl', ['version']).error === undefined;
const withTools = isInstalled ? test : test.skip;
if (!isInstalled) test('OpenSSL is not installed here: the guide to a first server is skipped', (t) => t.pass());

withTools(
  'every command of the guide to a first server does what the guide says, up to a token of a machine',
  async (t) => {
    t.timeout(180_000);
    const folder = temporaryFolder(t);
    const [made, used] = await followFirstServer(t, folder);
    t.is(made.status, 0, made.stderr);
    t.is(used.status, 0, `${used.stdout}${used.stderr}`);
    const fingerprint = /^sha256 Fingerprint=([0-9A-F:]{95})$/im.exec(made.stdout)?.[1];
    t.true(made.stdout.includes(`root           SHA-256 ${fingerprint}\n`), 'as openssl prints it');
    for (const said of [
      /^ok {7}certificate: CN=user\.jane is valid for 364 days$/m,
      /^ok {7}reachability: the server answers and knows this client$/m,
      /^nothing would change$/m,
      /^outcome +registered$/m,
      /^state +valid$/m,
      /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/m,
      / user\.jane +[0-9a-f]{32} .* create +films/,
    ]) {
      t.regex(used.stdout, said);
    }
    t.false(/^(FAILED|warning) /m.test(used.stdout), used.stdout);
    const by = used.stdout.split('\n').filter((line) => line.includes('sys.auth') && line.includes(' create '));
    t.true(
      by.every((line) => line.includes(` ${localActor()} `)),
      by.join('\n'),
    );

    const own = 'server/identities/user.jane.cert.pem';
    const verify = (purpose: string) =>
      openssl(
        folder,
        'verify',
        '-x509_strict',
        '-purpose',
        purpose,
        '-CAfile',
        'server/ca/bundle.pem',
        '-untrusted',
        own,
        own,
      );
    t.is((await verify('sslclient')).output, `${own}: OK\n`);
    t.false((await verify('sslserver')).ok, 'it is for clients alone');
    t.is((await openssl(folder, 'pkey', '-in', 'offline/root.key.pem', '-noout')).ok, true);
    t.false(existsSync(join(folder, 'server/ca/root.key.pem')));
    t.regex(readFileSync(join(folder, 'server/signet.yaml'), 'utf8'), /^baseUrl: https:\/\/localhost:\d+\/v1$/m);
  },
);
