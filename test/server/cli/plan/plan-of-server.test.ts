import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import { runSignetIn } from '#support/run-signet';

/* `plan`, `apply` and `test` with a client certificate and no store, as a pipeline runs them. */

const world = await managementWorld();
const { server, newDomain, boss, operator } = world;
const { certificate, key } = await server.pki.identity('media.boss');
test.after.always(world.end);

const folder = join(server.folder, 'client');
mkdirSync(folder);
writeFileSync(join(folder, 'cert.pem'), certificate);
writeFileSync(join(folder, 'key.pem'), key);
writeFileSync(join(folder, 'ca.pem'), readFileSync(join(server.folder, 'bundle.pem')));
writeFileSync(
  join(folder, 'client.yaml'),
  `baseUrl: ${server.baseUrl}\ncertificate: cert.pem\nkey: key.pem\ncaBundle: ca.pem\n`,
);

const signet = (...args: readonly string[]) => runSignetIn(folder, '--config', 'client.yaml', ...args);

function write(name: string, files: Readonly<Record<string, string>>): string {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text);
  return name;
}

const films = (name: string) => `domain: ${name}
roles:
  admin: { members: [media.boss] }
  reader: { members: [media.player] }
policies:
  films: [{ action: read, resource: film, role: reader }]
`;
const cases = (name: string, expect = 'allow') =>
  `- { principal: media.player, action: read, resource: "${name}:film", expect: ${expect} }\n`;

test('a client configuration is enough to plan, apply and test; the audit log names the caller', async (t) => {
  const domain = await newDomain('remote');
  const at = write('remote', { 'remote.yaml': films('remote'), 'remote.cases.yaml': cases('remote') });
  const planned = await signet('plan', at, '--out', 'remote.plan', '--fail-on', 'loss');
  t.is(planned.status, 0, planned.stderr);
  t.regex(planned.stdout, /media\.player: gains read on remote:film/);
  const applied = await signet('apply', at, '--plan', 'remote.plan', '--reason', 'ticket');
  t.is(applied.status, 0, applied.stderr);
  t.is(applied.stdout, 'remote: changed, version 2\n1 cases passed\n');
  t.like((await operator(`${domain}/changes`)).body, { items: [{ actor: 'media.boss', reason: 'ticket' }] });
  const again = await signet('apply', at, '--plan', 'remote.plan');
  t.deepEqual([again.status, again.stderr], [1, 'signet: the effect differs from the plan: plan again\n']);
  const tested = await signet('test', at, '--against-server');
  t.deepEqual([tested.status, tested.stdout], [0, '1 passed, 0 failed\n']);
  write('remote', { 'remote.cases.yaml': cases('remote', 'deny') });
  const failing = await signet('test', at, '--against-server');
  t.is(failing.status, 1);
  t.regex(
    failing.stdout,
    /remote\/remote\.cases\.yaml:1:3: \[0\]: media\.player read remote:film: expected deny, decided ALLOW/,
  );
});

test('without a plan file an apply plans by itself; problems name the file in the folder', async (t) => {
  await newDomain('alone');
  const at = write('alone', { 'alone.yaml': films('alone') });
  const done = await signet('apply', at, '--json');
  t.like(JSON.parse(done.stdout), { domains: [{ name: 'alone', outcome: 'changed' }] });
  write('alone', { 'alone.yaml': films('alone').replace('role: reader', 'role: readers') });
  const refused = await signet('apply', at);
  t.is(refused.status, 1);
  t.regex(refused.stderr, /^signet: nothing was applied, problems in the documents: 1\nalone\/alone\.yaml:\d+:\d+: /);
});

test('test --against-server --strict fails for a warning, and options for a server need --against-server', async (t) => {
  await newDomain('warned');
  const unknown = '- { roles: [nobody], action: read, resource: "warned:film", expect: deny }\n';
  const at = write('warned', { 'warned.yaml': films('warned'), 'warned.cases.yaml': unknown });
  const lenient = await signet('test', at, '--against-server');
  t.deepEqual([lenient.status, lenient.stdout], [0, '1 passed, 0 failed\n']);
  t.regex(lenient.stderr, /domain `warned` has no role `nobody`/);
  const strict = await signet('test', at, '--against-server', '--strict');
  t.is(strict.status, 1);
  t.regex(strict.stderr, /domain `warned` has no role `nobody`/);
  const ignored = await signet('test', at, '--url', server.baseUrl);
  t.deepEqual([ignored.status, ignored.stderr], [2, 'signet: options for a server need --against-server\n']);
});

test('--domain takes the files of some domains', async (t) => {
  await newDomain('chosen');
  const at = write('some', { 'chosen.yaml': films('chosen'), 'foreign.yaml': films('foreign') });
  t.regex((await signet('plan', at)).stderr, /documents and policy tests of `foreign` require/);
  const planned = await signet('plan', at, '--domain', 'chosen', '--domain', 'chosen', '--json');
  t.is(planned.status, 0, planned.stderr);
  const missing = await signet('plan', at, '--domain', 'films');
  t.deepEqual([missing.status, missing.stderr], [2, 'signet: --domain: folder `some` has no file of `films`\n']);
  t.is((await boss('^/management/v1/domains/chosen/roles/reader', send('GET'))).status, 404, 'a plan changes nothing');
});
