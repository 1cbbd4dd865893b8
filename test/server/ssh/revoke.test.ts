import { writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createClient, type SignetClientError } from '@signet/client';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import test, { type ExecutionContext } from 'ava';
import { json } from '#support/instance-world';
import { hasSshKeygen, makeSshKey, sshKeygen } from '#support/openssh';
import { caller, startServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const withKeygen = hasSshKeygen ? test : test.skip;

async function start(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const authority = join(folder, 'user.pem');
  writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
  const server = await startServer(t, {
    options: { 'ssh.userAuthority': authority },
    domains: [
      {
        name: 'sys.auth',
        services: { operator: {} },
        roles: { operators: ['sys.auth.operator'], users: ['media.studio'] },
        policies: {
          logins: [['ALLOW', 'users', 'ssh_login', 'ssh.deploy']],
          revocation: [['ALLOW', 'operators', 'revoke', 'ssh']],
        },
      },
      { name: 'media', services: { studio: {}, guest: {} } },
    ],
  });
  const client = async (name: string) => {
    const made = createClient({
      baseUrl: server.baseUrl,
      caBundle: server.pki.bundle,
      ...(await server.pki.identity(name)),
    });
    t.teardown(() => made.close());
    return made;
  };
  return { folder, server, client };
}

withKeygen(
  'a certificate is revoked by its owner or an operator, by serial number or key id, and by nobody else',
  async (t) => {
    const { folder, server, client } = await start(t);
    const [owner, operator, guest] = [
      await client('media.studio'),
      await client('sys.auth.operator'),
      await client('media.guest'),
    ];
    const { file, line: publicKey } = makeSshKey(folder, 'id_ed25519', '-t', 'ed25519');
    const issued = [];
    for (const index of [0, 1, 2]) {
      const made = await owner.ssh.user({ publicKey, logins: ['deploy'] });
      t.like(made, { kind: 'user', keyId: 'user:media.studio', principals: ['deploy'] });
      writeFileSync(`${file}-${index}-cert.pub`, made.certificate);
      t.regex(sshKeygen('-L', '-f', `${file}-${index}-cert.pub`).output, new RegExp(`Serial: ${made.serial}\\n`));
      issued.push(made.serial);
    }
    const revoked = async () => {
      writeFileSync(
        join(folder, 'krl'),
        await fetchKrl(server.baseUrl, { ...(await server.pki.identity('media.guest')), ca: server.pki.bundle }),
      );
      return [0, 1, 2].map(
        (index) => sshKeygen('-Q', '-f', join(folder, 'krl'), `${file}-${index}-cert.pub`).status === 1,
      );
    };
    const refusal = (work: Promise<unknown>) =>
      work.then(
        () => 'done',
        (error: SignetClientError) => [error.status, error.serverMessage],
      );
    const [serial, second] = issued;
    const keyId = 'user:media.studio';
    const forbidden = [403, 'an SSH certificate is revoked by its owner or an operator'];
    t.deepEqual(await refusal(guest.ssh.revoke({ serial })), forbidden);
    t.deepEqual(await refusal(guest.ssh.revoke({ keyId })), forbidden);
    t.deepEqual(await revoked(), [false, false, false]);

    t.is(await owner.ssh.revoke({ serial, reason: 'key-compromise' }), 1);
    t.deepEqual(await revoked(), [true, false, false]);
    t.is(await operator.ssh.revoke({ serial: second }), 1);
    t.is(await operator.ssh.revoke({ keyId }), 1);
    t.deepEqual(await revoked(), [true, true, true]);
    const none = [404, 'there is no such SSH certificate in force'];
    t.deepEqual(await refusal(operator.ssh.revoke({ keyId })), none);
    t.deepEqual(await refusal(owner.ssh.revoke({ serial: 1n })), none);
    const records = await server.store.audit({ limit: 3 });
    t.deepEqual(
      records.map(({ action, actor, reason }) => [action, actor, reason]),
      [
        ['revoke-certificate', 'sys.auth.operator', 'unspecified'],
        ['revoke-certificate', 'sys.auth.operator', 'unspecified'],
        ['revoke-certificate', 'media.studio', 'key-compromise'],
      ],
    );

    const fields = '`serial` or `keyId`, and `reason`';
    for (const [body, message] of [
      [{}, 'the body must have either `serial` or `keyId`'],
      [{ serial: '1', keyId }, 'the body must have either `serial` or `keyId`'],
      [{ serial: 1 }, `serial is not as it must be: ${fields}`],
      [{ serial: '0x1f' }, `serial is not as it must be: ${fields}`],
      [{ serial: '1', all: true }, `the body is not as it must be: ${fields}`],
      [{ serial: '1', reason: 'fun' }, `reason is not as it must be: ${fields}`],
    ] as const) {
      const call = caller(t, server, await server.pki.identity('media.studio'));
      t.deepEqual((await call('/sshcert/revoke', json(body))).body, { code: 400, message });
    }
  },
);

function fetchKrl(
  baseUrl: string,
  { certificate, key, ca }: Readonly<Record<'certificate' | 'key' | 'ca', string>>,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    request(`${baseUrl}/sshcert/krl`, { cert: certificate, key, ca, agent: false }, (answer) => {
      buffer(answer).then(resolve, reject);
    })
      .on('error', reject)
      .end();
  });
}
