import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { rowSerial } from '@signet/server/ssh/certificate-log';
import { readSshCertificate } from '@signet/server/ssh/inspect-ssh';
import { createSshAuthorityKey, readSshAuthority } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test, { type ExecutionContext } from 'ava';
import { hasSshKeygen, sshKeygen } from '#support/openssh';
import { revoke } from '#support/revoke';
import { type Caller, caller, startServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));

async function start(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const files = { host: join(folder, 'host.pem'), user: join(folder, 'user.pem') };
  for (const file of Object.values(files)) writeFileSync(file, createSshAuthorityKey(), { mode: 0o600 });
  const server = await startServer(t, {
    options: { 'ssh.hostAuthority': files.host, 'ssh.userAuthority': files.user },
    domains: [
      {
        name: 'sys.auth',
        services: { server: {} },
        roles: { operators: ['media.studio'] },
        policies: { logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']] },
      },
      { name: 'media', services: { studio: {}, guest: {} } },
    ],
  });
  return { folder, server, signers: { host: readSshAuthority(files.host), user: readSshAuthority(files.user) } };
}

function ask(call: Caller, requestor: string, certType: string, principals: readonly string[], meta: object = {}) {
  const body = { certRequestData: { principals, publicKey }, certRequestMeta: { requestor, certType, ...meta } };
  return call('/sshcert', { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

function issuedIn(body: unknown): {
  line: string;
  signer: unknown;
  certificate: ReturnType<typeof readSshCertificate>;
} {
  const { certificates, certificateSigner: signer } = body as Record<string, unknown> & {
    certificates: { certificate: string }[];
  };
  const line = certificates[0]?.certificate ?? '';
  return { line, signer, certificate: readSshCertificate(Buffer.from(line.split(' ')[1] ?? '', 'base64')) };
}

test('a user certificate: granted, recorded, revoked, in the list', async (t) => {
  const { folder, server, signers } = await start(t);
  const call = caller(t, server, await server.pki.identity('media.studio'));
  const answer = await ask(call, 'media.studio', 'user', ['deploy']);
  t.is(answer.status, 201, answer.text);
  t.is(answer.headers['cache-control'], 'no-store');
  const { line, signer, certificate } = issuedIn(answer.body);
  t.is(signer, formatSshPublicKey(signers.user.publicKey));
  t.like(certificate, { kind: 'user', keyId: 'user:media.studio', principals: ['deploy'], extensions: ['permit-pty'] });
  t.is(certificate.validBefore - certificate.validAfter, 3900n);
  t.deepEqual((await ask(call, 'media.studio', 'user', ['root'])).body, {
    code: 403,
    message: 'principal may not log in as `root`',
  });

  const serial = rowSerial(certificate.serial);
  const second = issuedIn((await ask(call, 'media.studio', 'user', ['deploy'])).body);
  const at = Number(certificate.validAfter);
  t.true(await revoke(server.store, serial, { reason: 'key-compromise', at, by: 'media.studio' }));
  const krl = await download(t, server, await server.pki.identity('media.guest'));
  const { headers } = await call('/sshcert/krl');
  t.is(headers['cache-control'], 'max-age=60');
  const again = await call('/sshcert/krl', { headers: { 'if-none-match': String(headers['etag']) } });
  t.deepEqual([again.status, again.text, again.headers['etag']], [304, '', headers['etag']]);
  if (!hasSshKeygen) return;
  const states = [line, second.line].map((text, index) => {
    const file = join(folder, `${index}-cert.pub`);
    writeFileSync(file, text);
    writeFileSync(join(folder, 'krl'), krl);
    return sshKeygen('-Q', '-f', join(folder, 'krl'), file).status;
  });
  t.deepEqual(states, [1, 0]);
});

test('a host certificate: for the names of the X.509 certificate on the connection', async (t) => {
  const { server, signers } = await start(t);
  const call = caller(t, server, await server.pki.server());
  const answer = await ask(call, 'sys.auth.server', 'host', ['localhost']);
  t.is(answer.status, 201, answer.text);
  const { signer, certificate } = issuedIn(answer.body);
  t.is(signer, formatSshPublicKey(signers.host.publicKey));
  t.like(certificate, { kind: 'host', keyId: 'host:sys.auth.server', principals: ['localhost'], extensions: [] });
  t.is((await ask(call, 'sys.auth.server', 'host', ['play.media.test'])).status, 403);
  t.is((await ask(call, 'sys.auth.server', 'host', [])).status, 400);
});

test('without authorities nothing is issued', async (t) => {
  const server = await startServer(t, { domains: [{ name: 'media', services: { studio: {} } }] });
  const call = caller(t, server, await server.pki.identity('media.studio'));
  const answer = await ask(call, 'media.studio', 'user', ['deploy']);
  t.deepEqual(answer.body, { code: 404, message: 'this server issues no SSH user certificates' });
});

/** The bytes of the revocation list, as text of one byte a character. */
async function download(
  t: ExecutionContext,
  server: Awaited<ReturnType<typeof startServer>>,
  who: { certificate: string; key: string },
): Promise<Buffer> {
  const { request } = await import('node:https');
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options = { ca: server.pki.bundle, cert: who.certificate, key: who.key };
  request(`${server.baseUrl}/sshcert/krl`, options, (response) => {
    t.is(response.statusCode, 200);
    t.is(response.headers['content-type'], 'application/octet-stream');
    const chunks: Buffer[] = [];
    response.on('data', (chunk: Buffer) => chunks.push(chunk));
    response.on('end', () => resolve(Buffer.concat(chunks)));
  })
    .on('error', reject)
    .end();
  return promise;
}
