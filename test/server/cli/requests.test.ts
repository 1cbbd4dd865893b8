import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import { runSignetIn } from '#support/run-signet';

/* Change requests as typed in a terminal. */

const world = await managementWorld({ 'management.requests.issuedByOperators': true });
const { server, base, operator } = world;
const at = (name: string) => join(server.folder, name);
for (const name of ['ann', 'bob', 'eve']) {
  const { certificate, key } = await server.pki.identity(`user.${name}`);
  writeFileSync(at(`${name}.cert.pem`), certificate);
  writeFileSync(at(`${name}.key.pem`), key);
}
test.after.always(world.end);

const signet = (who: string, ...args: readonly string[]) => {
  const own = ['--cert', at(`${who}.cert.pem`), '--key', at(`${who}.key.pem`), '--ca', at('bundle.pem')];
  return runSignetIn(server.folder, ...args, ...own, '--url', server.baseUrl);
};

async function done(who: string, ...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await signet(who, ...args);
  if (status !== 0) throw new Error(`${status} ${stderr}`);
  return stdout;
}

const admins = ['user.ann', 'user.bob'];
async function make(name: string, more: object = {}): Promise<void> {
  const made = await operator(`${base}/domains`, send('POST', { domain: name, admins, ...more }));
  if (made.status !== 201) throw new Error(made.text);
}

const numberIn = (line: string) => /^request (\d+): /.exec(line)?.[1] ?? '';
const digestOf = async (who: string, id: string) =>
  String(JSON.parse(await done(who, 'request', 'show', id, '--json')).plan.digest);

test.serial('a role is requested, shown, approved by its digest and listed', async (t) => {
  t.timeout(120_000);
  await make('films');
  await done('ann', 'role', 'create', 'films', 'publisher', '--approvals', '1', '--request-seconds', '14400');
  const asked = await done('eve', 'request', 'role', 'films', 'publisher', '--for', '1h', '--reason', 'ticket 4711');
  const id = numberIn(asked);
  t.is(asked, `request ${id}: films:role.publisher for 1h, waits for 1 approval\n`);
  const shown = await done('ann', 'request', 'show', id);
  t.regex(shown, new RegExp(`^request ${id}: films:role.publisher for 1h, waits for 1 approval\n  by user.eve, `));
  t.regex(shown, /\n {2}reason: ticket 4711\n/);
  t.regex(shown, /\n {2}\+ member publisher: user\.eve\n/);
  t.true(shown.endsWith(`\ndigest ${await digestOf('ann', id)}\n`));

  const refused = await signet('ann', 'approve', id);
  t.deepEqual(
    [refused.status, refused.stderr],
    [2, 'signet: without a terminal nobody can be asked: use --plan with the digest of the effect\n'],
  );
  t.regex(refused.stdout, /member publisher: user\.eve/, 'it is shown all the same');
  const stale = await signet('ann', 'approve', id, '--plan', 'A'.repeat(43));
  t.deepEqual([stale.status, /differs/.test(stale.stderr)], [1, true]);
  const own = await signet('eve', 'approve', id, '--plan', 'A'.repeat(43));
  t.is(own.status, 1, own.stderr);

  const awaiting = await done('ann', 'request', 'list', '--awaiting', 'me');
  t.regex(
    awaiting,
    new RegExp(
      `^id +state +author +approvals +expires +request\n${id} +open +user.eve +0/1 .* films:role.publisher for 1h\n$`,
    ),
  );
  const approved = await done('ann', 'approve', id, '--plan', await digestOf('ann', id), '--comment', 'go on');
  t.is(approved, `request ${id}: films:role.publisher for 1h, applied\n`);
  t.regex(await done('eve', 'request', 'show', id), /\n {2}approved by user\.ann, .*: go on\n/);
  t.is(await done('ann', 'request', 'list', '--awaiting', 'me'), '');
  t.like(JSON.parse(await done('eve', 'request', 'list', '--state', 'applied', '--json')), [
    { id: Number(id), state: 'applied' },
  ]);
});

test.serial('a change of something protected is stored with --request, rejected and withdrawn', async (t) => {
  t.timeout(120_000);
  await make('vault', { approvals: 1 });
  const add = ['role', 'create', 'vault', 'reader'];
  const refused = await signet('ann', ...add);
  t.deepEqual(
    [refused.status, refused.stderr],
    [1, 'signet: domain `vault` needs 1 approval: add request=true (--request)\n'],
  );
  const first = await done('ann', ...add, '--request');
  const id = numberIn(first);
  t.is(first, `request ${id}: PUT /management/v1/domains/vault/roles/reader, waits for 1 approval\n`);
  t.like(JSON.parse(await done('bob', 'request', 'show', id, '--json')), { kind: 'edit', state: 'open' });
  const rejected = await done('bob', 'reject', id, '--comment', 'not now');
  t.is(rejected, `request ${id}: PUT /management/v1/domains/vault/roles/reader, rejected\n`);
  const second = numberIn(await done('ann', ...add, '--request'));
  t.is(await done('ann', 'withdraw', second), `request ${second}: withdrawn\n`);
  t.is((await signet('bob', 'approve', second, '--plan', 'A'.repeat(43))).status, 1);
  t.is((await signet('bob', 'withdraw', first)).status, 2, 'not a number');

  const plain = await done('ann', 'role', 'create', 'films', 'unprotected', '--request', '--json');
  t.deepEqual(JSON.parse(plain), { name: 'unprotected' }, 'what needs no approval is made at once');
});

test.serial('documents are stored with --request, and applied by break-glass with a right and a reason', async (t) => {
  t.timeout(120_000);
  await make('papers', { approvals: 1 });
  const folder = at('documents');
  const text = 'domain: papers\napprovals: 1\nroles:\n  admin: { members: [user.ann, user.bob] }\n  reader: {}\n';
  mkdirSync(folder);
  writeFileSync(join(folder, 'papers.yaml'), text);
  t.regex(await done('ann', 'plan', folder), /\npapers needs 1 approval\n/);
  const stored = await done('ann', 'apply', folder, '--request', '--reason', 'why');
  const id = numberIn(stored);
  t.is(stored, `request ${id}: papers.yaml, waits for 1 approval\n`);
  t.is((await signet('ann', 'apply', folder, '--break-glass')).stderr, 'signet: --break-glass requires --reason\n');
  t.is((await signet('ann', 'apply', folder, '--break-glass', '--reason', 'fire')).status, 1, 'nobody has the right');
  t.is((await signet('ann', 'apply', folder, '--break-glass', '--request')).status, 2);
  const approved = await done('bob', 'approve', id, '--plan', await digestOf('bob', id));
  t.is(approved, `request ${id}: papers.yaml, applied\n`);
});

test.serial('a change by break-glass is reviewed by another person', async (t) => {
  t.timeout(120_000);
  await make('fire');
  const rule = ['--action', 'break_glass', '--resource', 'domain', '--role', 'admin'];
  await done('ann', 'policy', 'add', 'fire', 'emergencies', ...rule);
  await done('ann', 'domain', 'update', 'fire', '--approvals', '1');
  await done('ann', 'role', 'create', 'fire', 'helpers', '--break-glass', '--reason', 'it burns');
  const [{ id, state } = {} as never] = JSON.parse(await done('bob', 'request', 'list', '--awaiting', 'me', '--json'));
  t.is(state, 'unreviewed');
  const path = 'PUT /management/v1/domains/fire/roles/helpers';
  t.regex(
    await done('bob', 'request', 'show', String(id)),
    new RegExp(`^request ${id}: ${path}, made by break-glass, waits for a review\n`),
  );
  const silent = await signet('bob', 'approve', String(id));
  t.deepEqual([silent.status, silent.stderr], [2, 'signet: without a terminal nobody can be asked: use --comment\n']);
  t.is((await signet('ann', 'approve', String(id), '--comment', 'mine')).status, 1);
  t.is(await done('bob', 'approve', String(id), '--comment', 'it did'), `request ${id}: ${path}, applied\n`);
});

for (const [note, args, message] of [
  ['no time', ['--for', '0h'], /must be from 1m to 30d, such as 30m, 4h or 2d/],
  ['too long', ['--for', '31d'], /must be from 1m to 30d/],
  ['another unit', ['--for', '1y'], /must be from 1m to 30d/],
  ['nothing', [], /required option '--for <time>' not specified/],
] as const) {
  test.serial(`a role is requested for ${note}`, async (t) => {
    const { status, stderr } = await signet('eve', 'request', 'role', 'films', 'publisher', ...args, '--reason', 'x');
    t.is(status, 2, stderr);
    t.regex(stderr, message);
  });
}

test.serial('a role is requested for 60 seconds at least', async (t) => {
  const ask = ['request', 'role', 'films', 'publisher', '--reason', 'short', '--for'];
  t.is((await signet('bob', ...ask, '59s')).status, 2);
  t.regex(await done('bob', ...ask, '60s'), / for 1m, waits for 1 approval\n$/);
});

test.serial('a command beside the store takes no request', async (t) => {
  const folder = at('beside');
  mkdirSync(folder);
  writeFileSync(join(folder, 'empty.yaml'), 'domain: empty\n');
  const { status, stderr } = await runSignetIn(
    server.folder,
    'apply',
    folder,
    '--request',
    '--config',
    at('signet.yaml'),
  );
  t.deepEqual([status, stderr], [2, 'signet: --request asks a server: use it with --as, --cert or --url\n']);
});
