import { readFileSync } from 'node:fs';
import test from 'ava';
import { childrenOf } from '#support/child-processes';
import { costsAreKnown } from '#support/cost';
import { install, serve } from '#support/signet-program';
import { form } from '#support/start-server';
import { until } from '#support/until';

/* Processes of the server abort: those that share its port, and the one for dry runs. Others go on, and each is started again. */

const onLinux = costsAreKnown ? test : test.skip;
const minutes = 60_000;
const domains = [
  { name: 'sys.auth', roles: { admin: ['sys.auth.operator'] }, services: { operator: {} } },
  {
    name: 'catalog',
    roles: {
      admin: ['media.player'],
      reader: ['media.player'],
      crowd: Array.from({ length: 20_000 }, (_, index) => `user.member${index}`),
    },
  },
  { name: 'media', services: { player: {} } },
] as const;
const token = form({ grant_type: 'client_credentials', scope: 'catalog:role.reader' });

onLinux('workers that abort or are killed are started again, and the others answer meanwhile', async (t) => {
  t.timeout(5 * minutes);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation, { args: ['--workers', '2'] });
  const player = await installation.pki.identity('media.player');
  // A new connection each time: one to the dead worker is gone with it.
  const status = async () =>
    (
      await serving
        .as(player)('/oauth2/token', token)
        .catch(() => undefined)
    )?.status;
  t.is(await status(), 200);
  // As many as said so: the port is free for others while none has it.
  let served = 2;
  await until('both serve', () => serving.errors().split('"msg":"serving"').length > served, 60_000);
  for (const signal of ['SIGABRT', 'SIGKILL'] as const) {
    const [first = 0, ...others] = childrenOf(serving.pid);
    t.is(others.length, 1);
    process.kill(first, signal);
    await until('the worker is gone', () => !childrenOf(serving.pid).includes(first), 60_000);
    t.is(await until('another worker answers', async () => (await status()) === 200 && 200, 60_000), 200);
    await until('it is replaced', () => childrenOf(serving.pid).length === 2, 60_000);
    served += 1;
    await until('the new one answers', () => serving.errors().split('"msg":"serving"').length > served, 60_000);
    t.true(childrenOf(serving.pid).every((pid) => pid !== first));
  }
  t.is(serving.errors().match(/worker ended, another is started/g)?.length, 2);
  t.is(await until('both answer', async () => (await status()) === 200 && 200, 60_000), 200);
});

onLinux('workers have settings of the allocator, and those of the operator instead where there are some', async (t) => {
  t.timeout(5 * minutes);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation, { args: ['--workers', '2'], env: { MALLOC_TOP_PAD_: '131072' } });
  const settings = childrenOf(serving.pid).map((pid) =>
    readFileSync(`/proc/${pid}/environ`, 'utf8')
      .split('\0')
      .filter((each) => each.startsWith('MALLOC_'))
      .toSorted(),
  );
  const expected = ['MALLOC_MMAP_THRESHOLD_=65536', 'MALLOC_TOP_PAD_=131072'];
  t.deepEqual(settings, [expected, expected]);
});

onLinux('the process for dry runs is killed: that dry run is answered 503, the next one is found', async (t) => {
  t.timeout(5 * minutes);
  const installation = await install(t, { domains });
  const serving = await serve(t, installation);
  const player = serving.as(await installation.pki.identity('media.player'));
  const list = Array.from({ length: 3000 }, (_, index) => ({
    action: 'read',
    resource: `*w${index}*`,
    role: 'crowd',
  }));
  const dryRun = (body: unknown) =>
    player('^/management/v1/domains/catalog/policies/p?dryRun=true', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const cut = dryRun(list);
  process.kill(await until('it runs', () => childrenOf(serving.pid)[0], 60_000), 'SIGKILL');
  const answer = await cut;
  t.deepEqual([answer.status, answer.headers['retry-after']], [503, '5']);
  t.is((await player('/oauth2/token', token)).status, 200);
  t.is((await dryRun(list.slice(0, 3))).status, 200);
});
