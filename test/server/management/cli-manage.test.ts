import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { managementWorld } from '#support/management-world';
import { runSignetIn } from '#support/run-signet';

/* Commands that change the store through the management API, as typed in a terminal. */

const world = await managementWorld();
const { server, end } = world;
const at = (name: string) => join(server.folder, name);
for (const [name, principal] of [
  ['operator', 'sys.auth.operator'],
  ['boss', 'media.boss'],
]) {
  const { certificate, key } = await server.pki.identity(principal ?? '');
  writeFileSync(at(`${name}.cert.pem`), certificate);
  writeFileSync(at(`${name}.key.pem`), key);
}
test.after.always(end);

/** `signet … --json` as one of the two; answers what it printed. */
async function as(who: 'operator' | 'boss', ...args: readonly string[]): Promise<unknown> {
  const own = ['--cert', at(`${who}.cert.pem`), '--key', at(`${who}.key.pem`), '--ca', at('bundle.pem')];
  const done = await runSignetIn(server.folder, ...args, ...own, '--url', server.baseUrl, '--json');
  if (done.status !== 0) throw new Error(`${done.status} ${done.stderr}`);
  return JSON.parse(done.stdout);
}

test('limits, quotas and the cloud account of a domain', async (t) => {
  t.timeout(120_000);
  await as('operator', 'domain', 'create', 'bounds', '--admin', 'media.boss', '--require-reason', '--reason', 'why');
  const reason = ['--reason', 'ticket'];
  t.deepEqual(await as('boss', 'domain', 'set-limits', 'bounds', '--token', '60', '--role-cert', '3600', ...reason), {
    tokenExpirySeconds: 60,
    roleCertExpirySeconds: 3600,
  });
  t.like(await as('operator', 'domain', 'set-quotas', 'bounds', '--roles', '7', ...reason), {
    own: { roles: 7 },
    inForce: { roles: 7, groups: 10_000 },
  });
  t.deepEqual(await as('operator', 'domain', 'set-account', 'bounds', '012345678901', ...reason), {
    account: '012345678901',
  });
  t.like(await as('boss', 'domain', 'update', 'bounds', '--no-require-reason', '--description', 'new', ...reason), {
    description: 'new',
    requireReason: false,
    limits: { tokenExpirySeconds: 60 },
    accounts: { aws: '012345678901' },
  });
  const update = ['domain', 'update', 'bounds', ...reason];
  const named = await as('boss', ...update, '--bundle-readers', 'media.player', 'Films.API');
  t.like(named, { description: 'new', bundleReaders: ['films.api', 'media.player'] });
  t.deepEqual(await as('boss', ...update, '--description', 'newer'), { ...Object(named), description: 'newer' });
  t.false('bundleReaders' in Object(await as('boss', ...update, '--no-bundle-readers')));
  t.false('approvals' in Object(await as('boss', ...update, '--approvals', '0')), 'none is the default');
  const asked = ['role', 'create', 'bounds', 'asked', '--approvals', '0', '--request-seconds', '3600', ...reason];
  t.deepEqual(await as('boss', ...asked), { name: 'asked', requestSeconds: 3600 });
  await t.throwsAsync(as('boss', ...update, '--approvals', '4'), { message: /approvals: must be at most 3/ });
  await t.throwsAsync(as('boss', ...update, '--approvals', 'two'), { message: /must be an integer/ });
});

test('members, reviews, versions of policies, searches and the changes of each', async (t) => {
  t.timeout(120_000);
  await as('operator', 'domain', 'create', 'shelf', '--admin', 'media.boss');
  await as('boss', 'role', 'create', 'shelf', 'reader', '--token-expiry', '30');
  await as('boss', 'role', 'add', 'shelf', 'reader', 'media.player', '--review', '2001-01-01T00:00:00Z', '--disabled');
  const player = { name: 'media.player', disabled: true, review: '2001-01-01T00:00:00.000Z' };
  t.deepEqual(await as('boss', 'role', 'members', 'shelf', 'reader'), [player]);
  t.like(await as('boss', 'reviews', '--domain', 'shelf'), [{ kind: 'role', name: 'reader', member: 'media.player' }]);
  t.deepEqual(await as('boss', 'search', '--member', 'media.player'), [
    { domain: 'shelf', kind: 'role', name: 'reader', entry: 'media.player', disabled: true },
  ]);
  writeFileSync(at('rules.yaml'), '- { action: read, resource: book, role: reader }\n');
  const policy = ['shelf', 'books'];
  const rule = ['--action', 'list', '--resource', 'book', '--role', 'reader', '--case-sensitive'];
  await as(
    'boss',
    'policy',
    'add',
    ...policy,
    ...rule,
    '--condition',
    'instances=h1',
    '--condition',
    'scopeall:in_cidr=2001:db8::/32',
  );
  await as('boss', 'policy', 'put-version', ...policy, '2', 'rules.yaml');
  const shown = await as('boss', 'policy', 'activate', ...policy, '2');
  t.like(shown, { active: '2' });
  const { versions } = shown as {
    versions: Record<string, { id: number; conditions: unknown; caseSensitive: unknown }[]>;
  };
  t.like(versions['0']?.[0], {
    conditions: [{ instances: 'h1', scopeall: { operator: 'IN_CIDR', value: '2001:db8::/32' } }],
    caseSensitive: true,
  });
  t.is(((await as('boss', 'policy', 'changes', ...policy)) as unknown[]).length, 3);
  const left = await as('boss', 'policy', 'remove', ...policy, '0', String(versions['0']?.[0]?.id));
  t.like(left, { versions: { 0: [] } });
});

const usage: readonly (readonly [args: readonly string[], status: number, said: RegExp])[] = [
  [['nosuch', '--help'], 2, /unknown command 'nosuch'/],
  [['access', 'nosuch', '--help'], 2, /unknown command 'nosuch'/],
  [['access', 'explain', '--help'], 0, /Usage: signet access explain \[options\] <action> <resource>/],
  [['access', 'who', '--help'], 0, /Usage: signet access who \[options\] <action> <resource>/],
  [['domain', 'set-quotas', 'd', '--roles', 'many'], 2, /must be an integer/],
];
for (const [args, status, said] of usage) {
  test(`usage: signet ${args.join(' ')}`, async (t) => {
    const done = await runSignetIn(server.folder, ...args);
    t.is(done.status, status);
    t.regex(done.stdout + done.stderr, said);
  });
}
