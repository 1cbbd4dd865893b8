import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { assertWithin } from '#support/cost';
import { createPki } from '#support/pki';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

/* An authority of clients is taken out of the file while its clients keep their connections. */

const domains = [
  { name: 'catalog', roles: { reader: ['media.player'] } },
  { name: 'media', services: { player: {} } },
];

const kept = 20;

for (const workers of ['1', '2']) {
  test(`kept connections of a withdrawn authority are 401 and end, with ${workers} process(es)`, async (t) => {
    t.timeout(120_000);
    const installation = await install(t, { domains });
    const { pki, folder } = installation;
    const next = await createPki();
    const serving = await serve(t, installation, { args: ['--workers', workers] });
    const who = await pki.identity('media.player');
    const callers = Array.from({ length: kept }, () => serving.as(who));
    const ask = async (caller: (typeof callers)[number]) => {
      const { status, headers } = await caller('/access/read?resource=catalog:movie');
      return `${status} ${String(headers['connection'])}`;
    };
    t.deepEqual(new Set(await Promise.all(callers.map(ask))), new Set(['200 keep-alive']));
    const file = join(folder, 'bundle.pem');
    const trust = (bundle: string) => {
      writeFileSync(`${file}.new`, bundle);
      renameSync(`${file}.new`, file);
    };
    trust(next.bundle);
    const start = performance.now();
    const refused = new Set<string>();
    await until('each connection is refused', async () => {
      const answers = await Promise.all(callers.map(ask));
      for (const answer of answers) if (answer !== '200 keep-alive') refused.add(answer);
      return answers.every((answer) => answer.startsWith('401'));
    });
    const seconds = (performance.now() - start) / 1000;
    // Each connection was told that it ends; a new one with the same certificate is refused by its handshake.
    t.true(refused.has('401 close'));
    assertWithin(t, `until ${kept} kept connections were refused`, seconds, 10, 's');
    trust(next.bundle + pki.bundle);
    await until('the authority is back', async () => (await ask(serving.as(who))).startsWith('200'));
    t.is(await serving.end(), 0);
  });
}

test('a chain that is still good is not refused when another root leaves, also below an authority that its client alone knows', async (t) => {
  const installation = await install(t, { domains });
  const { pki, folder } = installation;
  const other = await createPki();
  const file = join(folder, 'bundle.pem');
  const trust = (bundle: string) => {
    writeFileSync(`${file}.new`, bundle);
    renameSync(`${file}.new`, file);
  };
  trust(pki.bundle + other.bundle);
  const serving = await serve(t, installation);
  const [leaving, staying] = [
    serving.as(await pki.identity('media.player')),
    serving.as(await other.identity('media.player')),
  ];
  const ask = async (caller: typeof leaving) => (await caller('/access/read?resource=catalog:movie')).status;
  t.deepEqual([await ask(leaving), await ask(staying)], [200, 200]);
  trust(other.bundle);
  await until('the root that left is refused', async () => (await ask(leaving)) === 401);
  // The connection that was kept ends with its answer; a new handshake shows the chain again.
  t.deepEqual([await ask(staying), await ask(staying), await ask(staying)], [503, 200, 200]);
  t.is(await serving.end(), 0);
});
