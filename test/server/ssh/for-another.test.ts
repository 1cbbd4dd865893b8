import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPrincipalTokenSource } from '@signet/client';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { formatSshPublicKey, sshPublicKeyOf } from '@signet/server/ssh/ssh-public-key';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { caller, startServer, type TestServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';

/* SSH certificates are for the caller: none names another principal, and nothing is recorded that was not issued. */

const publicKey = formatSshPublicKey(sshPublicKeyOf(generateKeyPairSync('ed25519').publicKey));
const studioKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = (key: KeyObject) => key.export({ format: 'pem', type: 'spki' }).toString();

async function start(t: ExecutionContext, options: Readonly<Record<string, unknown>> = {}): Promise<TestServer> {
  const folder = temporaryFolder(t);
  const files = { host: join(folder, 'host.pem'), user: join(folder, 'user.pem') };
  for (const file of Object.values(files)) writeFileSync(file, createSshAuthorityKey(), { mode: 0o600 });
  return await startServer(t, {
    options: { 'ssh.hostAuthority': files.host, 'ssh.userAuthority': files.user, ...options },
    domains: [
      {
        name: 'sys.auth',
        services: { server: {} },
        roles: { operators: ['media.studio', 'media.guest'] },
        policies: { logins: [['ALLOW', 'operators', 'ssh_login', 'ssh.deploy']] },
      },
      { name: 'media', services: { studio: { 0: pem(studioKeys.publicKey) }, guest: {} } },
    ],
  });
}

/** How many SSH certificates the store knows. */
function recorded({ folder }: TestServer): number {
  const database = new Database(join(folder, 'signet.db'), { readonly: true });
  try {
    return Number(database.prepare(`select count(*) from certificates where kind like 'ssh-%'`).pluck().get());
  } finally {
    database.close();
  }
}

interface Attempt {
  readonly as: 'media.guest' | 'sys.auth.server';
  readonly requestor: string;
  readonly certType: 'user' | 'host';
  readonly principals: readonly string[];
  readonly meta?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

async function attempt(t: ExecutionContext, server: TestServer, { as, headers = {}, ...asked }: Attempt) {
  const who = as === 'sys.auth.server' ? await server.pki.server() : await server.pki.identity(as);
  const { principals, requestor, certType, meta = {} } = asked;
  const body = { certRequestData: { principals, publicKey }, certRequestMeta: { requestor, certType, ...meta } };
  return await caller(
    t,
    server,
    who,
  )('/sshcert', {
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

const attempts: [note: string, Attempt, message: string][] = [
  [
    'a login in the name of another, who may have it',
    { as: 'media.guest', requestor: 'media.studio', certType: 'user', principals: ['deploy'] },
    'certRequestMeta.requestor is not the caller',
  ],
  [
    'a host certificate in the name of another',
    { as: 'sys.auth.server', requestor: 'media.studio', certType: 'host', principals: ['localhost'] },
    'certRequestMeta.requestor is not the caller',
  ],
  [
    'a host certificate for the service of another',
    {
      as: 'sys.auth.server',
      requestor: 'sys.auth.server',
      certType: 'host',
      principals: ['localhost'],
      meta: { athenzService: 'media.studio' },
    },
    'certRequestMeta.athenzService is not the caller',
  ],
  [
    'a host certificate for an instance that is not its own',
    {
      as: 'sys.auth.server',
      requestor: 'sys.auth.server',
      certType: 'host',
      principals: ['localhost'],
      meta: { instanceId: 'i-1' },
    },
    'certRequestMeta.instanceId is not the instance of the caller',
  ],
  [
    'a host certificate for a name of another host',
    { as: 'media.guest', requestor: 'media.guest', certType: 'host', principals: ['localhost'] },
    "host name `localhost` is not the caller's",
  ],
];

test('an SSH certificate is given to nobody for another principal', async (t) => {
  const server = await start(t);
  for (const [note, asked, message] of attempts) {
    const answer = await attempt(t, server, asked);
    t.deepEqual([answer.status, answer.body], [403, { code: 403, message }], note);
  }
  t.is(recorded(server), 0);
  const proper: Attempt = { as: 'media.guest', requestor: 'media.guest', certType: 'user', principals: ['deploy'] };
  t.is((await attempt(t, server, proper)).status, 201, 'the same, for oneself');
  t.is(recorded(server), 1);
});

test('the host names of a connection are not those of whom a principal token names', async (t) => {
  const server = await start(t, { profile: 'athenz' });
  const privateKey = studioKeys.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  const { token } = createPrincipalTokenSource({ domain: 'media', service: 'studio', privateKey, keyId: '0' }).get();
  const asked: Attempt = {
    as: 'sys.auth.server',
    requestor: 'media.studio',
    certType: 'host',
    principals: ['localhost'],
    headers: { 'athenz-principal-auth': token },
  };
  const answer = await attempt(t, server, asked);
  t.true([401, 403].includes(answer.status), answer.text);
  t.is(recorded(server), 0);
});
