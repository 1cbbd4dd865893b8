import { X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { field, instanceWorld, refresh, register } from '#support/instance-world';
import { readinessOf } from '#support/operators';

const minute = 60_000;

for (const [name, stepMs] of [
  ['two hours on', 120 * minute],
  ['five minutes back', -5 * minute],
] as const) {
  test(`the clock of the server goes ${name}: instances register and refresh, and what was revoked stays so`, async (t) => {
    const clock = new FakeClock(systemClock.now());
    const world = await instanceWorld(t, { clock });
    const [kept, deleted] = [await register(world, 's-1'), await register(world, 's-2')];
    const path = '/instance/sys.auth.server/media/player/s-2';
    t.is((await (await world.identity('media.admin'))(path, { method: 'DELETE' })).status, 204);
    clock.advance(stepMs);

    const next = await refresh(world, kept);
    t.is(next.answer.status, 200, next.answer.text);
    const leaf = new X509Certificate(next.certificate);
    t.true(leaf.validFromDate.getTime() <= clock.now() && leaf.validToDate.getTime() > clock.now());
    const gone = await refresh(world, deleted);
    t.deepEqual(gone.answer.body, { code: 401, message: 'client certificate was revoked' });
    t.is((await register(world, 's-3')).answer.status, 201);

    const list = await (await world.identity('media.studio'))('/crl');
    t.is(list.status, 200);
    t.is(field((await readinessOf(world, world.pki))['revocationLists'], 'status'), 'fresh');
  });
}

test('a clock that is two hours back knows no certificate of now, and knows them again when it is right', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const world = await instanceWorld(t, { clock });
  const instance = await register(world, 's-4');
  clock.advance(-120 * minute);
  const early = await refresh(world, instance);
  t.is(early.answer.status, 401, early.answer.text);
  clock.advance(120 * minute);
  t.is((await refresh(world, instance)).answer.status, 200);
});
