import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import test, { type ExecutionContext } from 'ava';
import { instance, type WorkerOrder } from '#support/instance-worker';
import { type StoreKind, storeKinds } from '#support/store-kinds';

const script = fileURLToPath(import.meta.resolve('#support/instance-worker'));

async function startWorker(t: ExecutionContext, place: string): Promise<ChildProcess> {
  const worker = fork(script, [place], { execArgv: ['--conditions=@signet/source'] });
  t.teardown(() => worker.kill('SIGKILL'));
  await once(worker, 'message');
  return worker;
}

/** A store and two processes that work on it. The orders of one call are given to both before either can have begun. */
async function twoProcesses(t: ExecutionContext, kind: StoreKind) {
  const at = await kind.place(t);
  const place = JSON.stringify(at);
  const store = await openStore(at);
  t.teardown(() => store.close());
  const workers = await Promise.all([startWorker(t, place), startWorker(t, place)]);
  const both = (orderOf: (index: number) => WorkerOrder): Promise<unknown[]> =>
    Promise.all(
      workers.map(async (worker, index) => {
        const answered = once(worker, 'message');
        worker.send(orderOf(index));
        const [answer]: unknown[] = await answered;
        return answer;
      }),
    );
  return { store, both };
}

for (const kind of storeKinds) {
  test(`${kind.name}: two processes spend each join token once`, async (t) => {
    const { store, both } = await twoProcesses(t, kind);
    const digests = Array.from({ length: 60 }, (_, index) => `t${index}`);
    const token = { ...instance, expires: 100, createdBy: instance.provider };
    await Promise.all(digests.map((digest) => store.instances.addJoinToken(digest, token)));
    // One goes through them from the other end, so that each has a chance.
    const order = (index: number) => (index === 0 ? digests : digests.toReversed());
    const [one, other] = await both((index) => ({ kind: 'spend', digests: order(index) }));
    if (!Array.isArray(one) || !Array.isArray(other)) throw new Error('no answer');
    t.deepEqual(
      one.map((times, index) => Number(times) + Number(other.at(-1 - index))),
      digests.map(() => 1),
    );
  });

  test(`${kind.name}: two refreshes with one certificate in two processes: both are answered, whichever answer is lost`, async (t) => {
    const { store, both } = await twoProcesses(t, kind);
    const holder = parsePrincipalName('media.player');
    const row = {
      serial: 's',
      issuer: 'i',
      kind: 'instance',
      subject: 'media.player',
      notBefore: 0,
      notAfter: 99,
    } as const;
    await store.certificates.intend({ ...row, holder }, 1);
    await store.instances.register(
      instance,
      { serial: 's', fingerprint: 'f', notAfter: 99 },
      { clientOnly: false, at: 1 },
    );
    let current = 's';
    for (let round = 0; round < 8; round += 1) {
      const presented = current;
      const serials = [`${round}a`, `${round}b`];
      t.deepEqual(await both((index) => ({ kind: 'rotate', presented, serial: serials[index] ?? '' })), [
        'moved',
        'moved',
      ]);
      const record = await store.instances.find(instance);
      t.like(record, { previousSerial: presented, revoked: false });
      current = record?.currentSerial ?? '';
      t.true(serials.includes(current));
      const [lost = ''] = serials.filter((serial) => serial !== current);
      t.like(record, { previousUsed: true }, 'one lost answer is tolerated, and no second one');
      const third = { serial: 'third', fingerprint: 'f', notAfter: 99 };
      t.is(await store.instances.rotate(instance, { serial: presented, at: 1 }, third), 'foreign');
      t.is((await store.instances.statusOf(instance, lost))?.lineage, 'foreign', 'who has this one is somebody else');
    }
  });
}
