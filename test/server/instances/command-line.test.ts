import { X509Certificate } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { instanceWorld, register } from '#support/instance-world';
import { runProgram } from '#support/run-program';
import { runSignet } from '#support/run-signet';
import { until } from '#support/until';

const main = fileURLToPath(import.meta.resolve('@signet/server/main'));

for (const id of ['cli-1', 'i-0~a=b:C']) {
  test(`an operator prints a token, the instance ${id} registers with it, renews, and is deleted`, async (t) => {
    const world = await instanceWorld(t);
    const at = (name: string) => join(world.folder, name);
    const admin = await world.pki.identity('media.admin');
    writeFileSync(at('admin.cert.pem'), admin.certificate);
    writeFileSync(at('admin.key.pem'), admin.key);
    const server = ['--url', world.baseUrl, '--ca', at('bundle.pem')];
    const operator = [...server, '--cert', at('admin.cert.pem'), '--key', at('admin.key.pem')];
    const token = await runSignet('instance', 'token', 'media.player', id, ...operator);
    t.deepEqual([token.status, token.stderr], [0, '']);
    t.regex(token.stdout, /^signet-join-[\w-]{43}\n$/);
    writeFileSync(at('token'), token.stdout);

    const instance = [
      ...server,
      '--name',
      'media.player',
      '--instance-id',
      id,
      '--dir',
      at('identity'),
      '--trust-domain',
      'signet.test',
      '--attestation',
      at('token'),
      '--json',
    ];
    t.is((await runSignet('identity', 'status', '--dir', at('identity'))).status, 1);
    const first = await runSignet('identity', 'once', ...instance);
    t.is(first.status, 0, first.stderr);
    t.like(JSON.parse(first.stdout), { outcome: 'registered' });
    t.is(statSync(at('identity/key.pem')).mode & 0o777, 0o600);
    t.like(JSON.parse((await runSignet('identity', 'once', ...instance)).stdout), { outcome: 'current' });
    t.like(JSON.parse((await runSignet('identity', 'once', '--force', ...instance)).stdout), { outcome: 'refreshed' });
    const status = await runSignet('identity', 'status', '--dir', at('identity'), '--json');
    t.like(JSON.parse(status.stdout), {
      state: 'valid',
      subject: 'media.player',
      certificate: at('identity/cert.pem'),
    });
    t.deepEqual(
      (
        await world.as({
          certificate: readFileSync(at('identity/cert.pem'), 'utf8'),
          key: readFileSync(at('identity/key.pem'), 'utf8'),
        })('/access/domain/catalog/principal/media.player')
      ).body,
      { roles: ['reader'] },
    );

    t.is((await runSignet('instance', 'delete', 'media.player', id, ...operator)).stdout, 'deleted\n');
    const refused = await runSignet('identity', 'once', '--force', ...instance);
    t.is(refused.status, 1);
    t.like(JSON.parse(refused.stdout), {
      outcome: 'failed',
      error:
        'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one',
    });
  });
}

test('an operator takes a certificate back, and the running server refuses it', async (t) => {
  const world = await instanceWorld(t);
  const env = { ...process.env, SIGNET_DATA_DIR: '.' };
  const operate = (...args: readonly string[]) =>
    runProgram(
      process.execPath,
      [
        '--conditions=@signet/source',
        main,
        '--config',
        join(world.folder, 'signet.yaml'),
        'certificate',
        ...args,
        '--json',
      ],
      { env },
    );
  const instance = await register(world, 'cli-2');
  const call = world.as(instance);
  t.is((await call('/cacerts/roots')).status, 200);
  const serial = new X509Certificate(instance.certificate).serialNumber;
  t.like(JSON.parse((await operate('show', serial)).stdout), {
    serial: serial.toLowerCase(),
    subject: 'media.player',
    instanceId: 'cli-2',
    state: 'issued',
  });
  const revoked = await operate('revoke', serial, '--reason', 'key-compromise');
  t.regex(JSON.parse(revoked.stdout).state, /^revoked .* \(key-compromise\)$/);
  await until('the server refuses it', async () => (await call('/cacerts/roots')).status === 401);
  t.like((await world.store.audit({ limit: 1 }))[0], {
    action: 'revoke-certificate',
    subject: serial.toLowerCase(),
    reason: 'key-compromise',
  });
  t.deepEqual(JSON.parse((await operate('orphans')).stdout), []);
  const unknown = await operate('revoke', '00');
  t.deepEqual([unknown.status, unknown.stderr], [1, '{"error":"no certificate has this serial number"}\n']);
});

test('what the command line does not take', async (t) => {
  for (const [args, said] of [
    [['identity', 'once'], /required option/],
    [
      ['identity', 'once', '--url', 'http://x', '--ca', 'x', '--name', 'a.b', '--instance-id', 'i', '--dir', 'd'],
      /--url an https address/,
    ],
    [
      [
        'identity',
        'once',
        '--url',
        'https://x',
        '--ca',
        'x',
        '--name',
        'a.b',
        '--instance-id',
        'i',
        '--dir',
        'd',
        '--expiry',
        '1h',
      ],
      /an integer \(seconds\)/,
    ],
    [['instance', 'token', 'media'], /missing required argument/],
  ] as const) {
    const { status, stderr } = await runSignet(...args);
    t.is(status, 2, stderr);
    t.regex(stderr, said);
  }
});
