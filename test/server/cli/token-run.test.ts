import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { decodeJwt } from 'jose';
import { runProgram } from '#support/run-program';
import { startServer, wholeFile } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const main = fileURLToPath(import.meta.resolve('@signet/server/main'));
const file = wholeFile();
const server = await startServer(file, {
  domains: [
    { name: 'catalog', roles: { reader: ['media.player'] }, services: { api: {} } },
    { name: 'media', services: { player: {}, guest: {} } },
  ],
});
const identities = {
  player: await server.pki.identity('media.player'),
  guest: await server.pki.identity('media.guest'),
};
test.after.always('end', () => file.end());

/** The words of a command line for a service, and the file of the token. */
function asked(t: ExecutionContext, name: keyof typeof identities) {
  const folder = temporaryFolder(t);
  const at = (part: string) => join(folder, part);
  const { certificate, key } = identities[name];
  writeFileSync(at('cert.pem'), certificate);
  writeFileSync(at('key.pem'), key, { mode: 0o600 });
  writeFileSync(at('ca.pem'), server.pki.bundle);
  const identity = ['--cert', at('cert.pem'), '--key', at('key.pem'), '--ca', at('ca.pem'), '--url', server.baseUrl];
  const words = ['token', 'run', '--domain', 'catalog', ...identity, '--out', at('token')];
  return { words: ['--conditions=@signet/source', main, ...words], out: at('token') };
}

test('one token is written for whoever may read it, and is not said', async (t) => {
  const { words, out } = asked(t, 'player');
  const { status, stdout, stderr } = await runProgram(process.execPath, [...words, '--once']);
  t.is(status, 0, stderr);
  t.is(stdout, '');
  const token = readFileSync(out, 'utf8');
  t.like(decodeJwt(token), { aud: 'catalog', sub: 'media.player', scp: ['reader'] });
  t.is(statSync(out).mode & 0o777, 0o600);
  t.like(JSON.parse(stderr), { level: 'info', outcome: 'written', file: out, msg: 'token written' });
  t.false(stderr.includes(token));
  const id = await runProgram(process.execPath, [...words, '--once', '--json', '--id-token', 'api']);
  t.like(JSON.parse(id.stdout), { outcome: 'written' });
  t.is(decodeJwt(readFileSync(out, 'utf8')).aud, 'catalog.api');
});

test('who gets none is told why, with exit status 1', async (t) => {
  const { words } = asked(t, 'guest');
  const { status, stderr } = await runProgram(process.execPath, [...words, '--once']);
  t.is(status, 1);
  t.like(JSON.parse(stderr), { level: 'error', outcome: 'failed', msg: 'no new token' });
  t.regex(stderr, /the server answered 403: principal has no access/);
});

test('it stays until SIGTERM and ends with 0; the token stays', async (t) => {
  const { words, out } = asked(t, 'player');
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  const said = text(child.stderr);
  const exited = once(child, 'exit');
  await until('the token is there', () => statSync(out, { throwIfNoEntry: false }) !== undefined);
  t.is(child.exitCode, null);
  child.kill('SIGTERM');
  t.deepEqual(await exited, [0, null]);
  t.is((await said).trim().split('\n').length, 1);
  t.is(decodeJwt(readFileSync(out, 'utf8')).aud, 'catalog');
});
