import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSshAuthorityKey } from '@signet/server/certificates/ssh/authority';
import { rowSerial } from '@signet/server/certificates/ssh/certificate-log';
import { readSshCertificate } from '@signet/server/certificates/ssh/inspect';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/certificates/ssh/public-key';
import test from 'ava';
import { field, instanceWorld, json, register } from '#support/instance-world';
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
  const { answer } = await register(world, 'h-1', { ssh: hostRequest('h-1.instanceid.signet.test') });
  t.is(answer.status, 201, answer.text);
  const line = String(field(answer.body, 'sshCertificate'));
  const certificate = readSshCertificate(Buffer.from(line.split(' ')[1] ?? '', 'base64'));
  t.like(certificate, { kind: 'host', principals: ['h-1.instanceid.signet.test'] });
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
