import test from 'ava';
import { type DomainSketch, domainContent } from '#support/domains';
import { field, instanceWorld } from '#support/instance-world';
import { saveDomain } from '#support/save-domain';
import { wholeFile } from '#support/start-server';

/* Join tokens for services that change a protected domain without approval. */

const file = wholeFile();
const world = await instanceWorld(file);
const admin = await world.identity('media.admin');
test.after.always(() => file.end());

async function store(sketch: DomainSketch): Promise<void> {
  await world.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, domainContent('vault', sketch)));
  await world.running.refresh();
}

async function asked(service: string): Promise<readonly unknown[]> {
  const { status, body } = await admin(`/instance/sys.auth.server/media/${service}/i-1/token`);
  return status === 200 ? [status] : [status, field(body, 'message')];
}

const refusal =
  '`media.player` may change a protected domain without approval: register a key of it by a request (--request), or have a provider launch it';
const roles = { pipeline: ['media.player'], publisher: [] };
const grant = (action: string) => [`allow ${action} domain pipeline`];

const cases: readonly (readonly [note: string, sketch: DomainSketch, isRefused: boolean])[] = [
  ['`apply_reviewed` on a protected domain', { roles, rules: grant('apply_reviewed'), approvals: 1 }, true],
  ['`break_glass` on a protected domain', { roles, rules: grant('break_glass'), approvals: 1 }, true],
  [
    '`apply_reviewed` on the domain of a protected role',
    { roles, rules: grant('apply_reviewed'), protects: { publisher: 1 } },
    true,
  ],
  ['`apply_reviewed` where nothing is protected', { roles, rules: grant('apply_reviewed') }, false],
  ['a wildcard on a protected domain', { roles, rules: grant('apply_*'), approvals: 1 }, false],
  ['`approve_changes` on a protected domain', { roles, rules: grant('approve_changes'), approvals: 1 }, false],
];

for (const [note, sketch, isRefused] of cases) {
  test.serial(`a service with ${note} ${isRefused ? 'gets no' : 'gets a'} join token`, async (t) => {
    await store(sketch);
    t.deepEqual(await asked('player'), isRefused ? [409, refusal] : [200]);
    t.deepEqual(await asked('studio'), [200], 'another service does');
  });
}

test.serial('who may not make a join token is not told what the service may do', async (t) => {
  await store({ roles, rules: grant('apply_reviewed'), approvals: 1 });
  const guest = await world.identity('media.studio');
  t.is((await guest('/instance/sys.auth.server/media/player/i-1/token')).status, 403);
});
