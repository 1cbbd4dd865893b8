import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import test from 'ava';
import { field, instanceWorld, register } from '#support/instance-world';
import { createPki } from '#support/pki';
import { until } from '#support/until';

test('a rollover of root and issuer under load: not one refusal while both count, and none of the old afterwards', async (t) => {
  const next = await createPki();
  const world = await instanceWorld(t, { options: { 'certificates.reloadIntervalMs': 100 } });
  const put = (name: string, text: string) => {
    writeFileSync(join(world.folder, `${name}.new`), text);
    renameSync(join(world.folder, `${name}.new`), join(world.folder, name));
  };
  const old = await world.pki.identity('media.studio');
  const fresh = await next.identity('media.studio');
  const path = '/access/domain/catalog/principal/media.studio';
  const kept = world.as(old);
  t.is((await kept(path)).status, 200);

  const load = { stopped: false, done: 0, refused: [] as number[] };
  let who = old;
  const work = async () => {
    while (!load.stopped) {
      const call = world.as(who);
      const { status } = await call(path);
      call.agent.destroy();
      load.done += 1;
      if (status !== 200) load.refused.push(status);
    }
  };
  const workers = [work(), work()];
  const reached = (count: number) => until(`${count} requests`, () => load.done >= count);
  await reached(20);
  put('bundle.pem', world.pki.bundle + next.bundle);
  world.running.reload();
  await reached(load.done + 20);
  put('issuer.key.pem', next.issuer.key);
  put('issuer.cert.pem', next.issuer.certificate);
  await until(
    'the new issuer signs',
    async () => field((await kept('/cacerts/issuers')).body, 'certs') === next.issuer.certificate,
  );
  who = fresh;
  await reached(load.done + 20);
  const instance = await register(world, 'n-1');
  t.is(instance.answer.status, 201);
  t.is((await world.as(instance)('/cacerts/roots')).status, 200);
  load.stopped = true;
  await Promise.all(workers);
  t.deepEqual(load.refused, []);

  const silent = connect({
    host: 'localhost',
    port: Number(new URL(world.baseUrl).port),
    ca: world.pki.bundle,
    cert: old.certificate,
    key: old.key,
  });
  t.teardown(() => silent.destroy());
  await once(silent, 'secureConnect');
  t.is((await kept(path)).status, 200, 'and the server has seen both handshakes');
  put('bundle.pem', next.bundle);
  world.running.reload();
  silent.write(`GET /v1${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const [answer] = await once(silent, 'data');
  // Node has forgotten the chains of connections: they end with the answer, and a new handshake decides.
  t.true(String(answer).startsWith('HTTP/1.1 503 '), 'also on a connection that has asked for nothing yet');
  t.is((await kept(path)).status, 503, 'also on a connection that was open before');
  t.is((await kept(path)).status, 401);
  t.is((await world.as(old)(path)).status, 401);
  t.is((await world.as(fresh)(path)).status, 200);
  t.is((await world.as(instance)('/cacerts/roots')).status, 200);
});
