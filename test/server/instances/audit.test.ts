import { X509Certificate } from 'node:crypto';
import test from 'ava';
import { instanceWorld, type Registered, refresh, register } from '#support/instance-world';
import { wholeFile } from '#support/start-server';

const file = wholeFile();
const world = await instanceWorld(file);
test.after.always(() => file.end());

function serialOf({ certificate }: Registered): string {
  return new X509Certificate(certificate).serialNumber.toLowerCase();
}

/** The records of one instance, with their JSON read and without what differs from run to run. */
async function recordsOf(id: string) {
  const subject = `sys.auth.server/media/player/${id}`;
  const records = await world.store.audit({ subject, limit: 10 });
  return records.map(({ id: _, at, before = 'null', after = 'null', requestId, ...record }) => {
    const { registeredAt, refreshedAt, notAfter, ...state } = JSON.parse(before);
    return {
      ...record,
      state,
      dated: [registeredAt, refreshedAt, notAfter].every(Number.isInteger) && at > 0 && requestId !== undefined,
      after: JSON.parse(after),
    };
  });
}

test('who deletes an instance is in the audit log, with what it took back; deleting nothing is not', async (t) => {
  const first = await register(world, 'a-1');
  const second = await refresh(world, first);
  const admin = await world.pki.identity('media.admin');
  const remove = () => world.as(admin)('/instance/sys.auth.server/media/player/a-1', { method: 'DELETE' });
  t.is((await remove()).status, 204);
  t.is((await remove()).status, 204);
  t.deepEqual(await recordsOf('a-1'), [
    {
      actor: 'media.admin',
      certificateSerial: new X509Certificate(admin.certificate).serialNumber.toLowerCase(),
      action: 'delete-instance',
      subject: 'sys.auth.server/media/player/a-1',
      state: { currentSerial: serialOf(second), previousSerial: serialOf(first), revoked: false },
      dated: true,
      after: { reason: 'cessation-of-operation', certificates: [serialOf(first), serialOf(second)].sort() },
    },
  ] as never);
  t.is((await world.store.verifyAudit()).fault, undefined);
});

test('an instance that is revoked by its lineage is in the audit log once, with the serial number that was presented', async (t) => {
  const first = await register(world, 'a-2');
  const second = await refresh(world, first);
  const third = await refresh(world, second);
  const stolen = await Promise.all([refresh(world, first), refresh(world, first), refresh(world, first)]);
  t.true(stolen.every(({ answer }) => answer.status === 403 || answer.status === 401));
  t.deepEqual(await recordsOf('a-2'), [
    {
      actor: 'media.player',
      certificateSerial: serialOf(first),
      reason: 'the serial number is neither the current one of the instance nor the one before',
      action: 'revoke-instance',
      subject: 'sys.auth.server/media/player/a-2',
      state: { currentSerial: serialOf(third), previousSerial: serialOf(second), revoked: false },
      dated: true,
      after: {
        revoked: true,
        reason: 'key-compromise',
        certificates: [serialOf(first), serialOf(second), serialOf(third)].sort(),
      },
    },
  ] as never);
  t.is((await world.store.verifyAudit()).fault, undefined);
});
