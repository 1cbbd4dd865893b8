import { request } from 'node:https';
import test, { type ExecutionContext } from 'ava';
import { childrenOf } from '#support/child-processes';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { install, serve } from '#support/signet-program';
import { type Answer, form } from '#support/start-server';
import { until } from '#support/until';

/* Dry run of one tenant: 3,000 assertions for 20,000 members; meanwhile the others get their tokens. */

const minutes = 60_000;
const domains = [
  { name: 'sys.auth', roles: { admin: ['sys.auth.operator'] }, services: { operator: {} } },
  {
    name: 'evil',
    roles: {
      admin: ['evil.boss', 'evil.other'],
      crowd: Array.from({ length: 20_000 }, (_, index) => `user.member${index}`),
    },
    services: { boss: {}, other: {} },
  },
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
] as const;

/** Memory of a process that has only loaded its modules as sources, in MiB. */
const idleWorkProcess = 125;

const path = '^/management/v1/domains/evil/policies/p?dryRun=true';
const rules = {
  'exact resources': (index: number) => `item${index}`,
  'wildcards on both sides': (index: number) => `*w${index}*`,
};

function body(resource: (index: number) => string) {
  const list = Array.from({ length: 3000 }, (_, index) => ({
    action: 'read',
    resource: resource(index),
    role: 'crowd',
  }));
  return { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(list) };
}

async function begin(t: ExecutionContext) {
  t.timeout(5 * minutes);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation);
  const as = async (name: string) => serving.as(await installation.pki.identity(name));
  const player = await as('media.player');
  const token = () => player('/oauth2/token', form({ grant_type: 'client_credentials', scope: 'catalog:role.reader' }));
  await token();
  return { serving, installation, as, token };
}

if (!costsAreKnown) test.skip('costs of processes are known on Linux only', () => undefined);

(costsAreKnown ? test : test.skip)('20,000 members by 3,000 rules: an answer, and tokens for the others', async (t) => {
  const { serving, as, token } = await begin(t);
  const [boss, again, other] = [await as('evil.boss'), await as('evil.boss'), await as('evil.other')];
  for (const [name, resource] of Object.entries(rules)) {
    const before = costOf(serving.pid);
    let answer: Answer | undefined;
    const asked = boss(path, body(resource)).then((found) => {
      answer = found;
    });
    // The helper has begun.
    await until('the process for dry runs runs', () => childrenOf(serving.pid).length > 0 || answer !== undefined);
    const refused = answer === undefined ? await again(path, body(resource)) : undefined;
    let tokens = 0;
    while (answer === undefined) {
      t.is((await token()).status, 200);
      tokens += 1;
    }
    await asked;
    const after = costOf(serving.pid);
    t.log(`${name}: ${tokens} tokens while it was found, ${after.processorMs - before.processorMs} ms of the server`);
    t.is(answer?.status, 200);
    t.regex(answer?.text ?? '', /"impactTotals":/);
    if (refused !== undefined) t.deepEqual([refused.status, refused.headers['retry-after']], [429, '2']);
    assertWithin(t, `${name}: memory of the server`, after.peakMiB - before.peakMiB, 150, 'MiB');
    const [helper] = childrenOf(serving.pid);
    t.not(helper, undefined, 'the process stays for the next question');
    assertWithin(t, `${name}: memory of the work process`, costOf(helper).peakMiB, idleWorkProcess + 100, 'MiB');
    assertWithin(t, `${name}: answer`, answer?.text.length ?? 0, 2_000_000, 'characters');
  }
  t.is(
    (
      await other(
        path,
        body((index) => `item${index}`),
      )
    ).status,
    200,
  );
});

(costsAreKnown ? test : test.skip)('a dry run ends when its connection closes', async (t) => {
  const { serving, installation, as, token } = await begin(t);
  const { certificate, key } = await installation.pki.identity('evil.boss');
  const { body: text, ...options } = body(rules['wildcards on both sides']);
  const url = new URL('/management/v1/domains/evil/policies/p?dryRun=true', serving.baseUrl);
  const asked = request(url, {
    ...options,
    cert: certificate,
    key,
    ca: installation.pki.bundle,
    servername: 'localhost',
    agent: false,
  });
  asked.on('error', () => undefined);
  asked.end(text);
  const helper = await until('the process for dry runs runs', () => childrenOf(serving.pid)[0]);
  asked.destroy();
  await until('it has ended', () => !childrenOf(serving.pid).includes(helper), 60_000);
  t.is((await token()).status, 200);
  // The next dry run of the same principal is not refused.
  const boss = await as('evil.boss');
  await until('the principal may ask again', async () => {
    const { status } = await boss('^/management/v1/domains/evil/roles/crowd?dryRun=true', {
      ...options,
      body: '{"description":"x"}',
    });
    return status === 200;
  });
});
