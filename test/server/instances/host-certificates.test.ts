import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowSerial } from '@signet/server/ssh/certificate-log';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test from 'ava';
import { field, instanceDomains, instanceWorld, json, register } from '#support/instance-world';
import { temporaryFolder } from '#support/temp';

const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

function hostRequest(...principals: readonly string[]): string {
  const certRequestMeta = { requestor: 'media.player', certType: 'host' };
  return JSON.stringify({ certRequestData: { principals, publicKey }, certRequestMeta });
}

test('an instance gets a host certificate for its own names beside its certificate, and loses both when it is deleted', async (t) => {
  const authority = join(temporaryFolder(t), 'host.pem');
  writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
  const world = await instanceWorld(t, { options: { 'ssh.hostAuthority': authority } });
  const { answer } = await register(world, 'h-1', {
    ssh: hostRequest('h-1.player.media.sys-auth-server.instanceid.signet.test'),
  });
  t.is(answer.status, 201, answer.text);
  const line = String(field(answer.body, 'sshCertificate'));
  const certificate = readSshCertificate(Buffer.from(line.split(' ')[1] ?? '', 'base64'));
  t.like(certificate, { kind: 'host', principals: ['h-1.player.media.sys-auth-server.instanceid.signet.test'] });
  t.regex(String(field(answer.body, 'sshCertificateSigner')), /^ssh-ed25519 |^ecdsa/);

  for (const [ssh, status] of [
    [hostRequest('other.example.com'), 403],
    [hostRequest(), 400],
    ['{', 400],
  ] as const) {
    t.is((await register(world, 'h-2', { ssh })).answer.status, status);
  }
  const admin = await world.identity('media.admin');
  const key = '/instance/sys.auth.server/media/player';
  t.is((await admin(`${key}/h-1`, { method: 'DELETE' })).status, 204);
  const revoked = await world.store.certificates.revocationsAfter(0, 0);
  t.true(revoked.some(({ serial }) => serial === rowSerial(certificate.serial)));
  t.is(revoked.length, 2);
  t.is((await world.as()(key, json({}))).status, 401);
});

/** The usual domains, and `sys.auth.server` and `prov.cloud` may vouch for hosts, but not for those of `internal.example`. */
const withHosts = instanceDomains.map((domain) =>
  domain.name === 'sys.auth'
    ? {
        ...domain,
        policies: {
          providers: [
            ...domain.policies.providers,
            ['ALLOW', 'providers', 'launch', 'hostname.*'],
            ['DENY', 'providers', 'launch', 'hostname.internal.example'],
          ] as const,
        },
      }
    : domain,
);

test('a host name is vouched for also when only a host certificate is asked for', async (t) => {
  const authority = join(temporaryFolder(t), 'host.pem');
  writeFileSync(authority, createSshAuthorityKey(), { mode: 0o600 });
  const world = await instanceWorld(t, { options: { 'ssh.hostAuthority': authority }, domains: withHosts });
  const instance = await register(world, 'h-3');
  const ask = (hostname: string) =>
    world.as(instance)('/instance/sys.auth.server/media/player/h-3', json({ hostname, ssh: hostRequest(hostname) }));
  const good = await ask('one.hosts.example');
  t.is(good.status, 200, good.text);
  const line = String(field(good.body, 'sshCertificate'));
  t.deepEqual(readSshCertificate(Buffer.from(line.split(' ')[1] ?? '', 'base64')).principals, ['one.hosts.example']);
  const notVouched = (name: string) =>
    `hostname \`${name}\` is not one that provider \`sys.auth.server\` may vouch for`;
  const long = `${'a.'.repeat(12)}internal.example`;
  for (const [hostname, message] of [
    ['bank.internal.example', notVouched('bank.internal.example')],
    [long, notVouched(long)],
    ['single', '`hostname` is not a host name'],
    ['*.hosts.example', '`hostname` is not a host name'],
    ['a b.hosts.example', '`hostname` is not a host name'],
  ] as const) {
    t.deepEqual((await ask(hostname)).body, { code: 400, message });
  }
});
