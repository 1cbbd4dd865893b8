import { EventEmitter } from 'node:events';
import { createPeerRelay, type WorkerPeers, workerPeers } from '@signet/server/cli/worker-peers';
import test from 'ava';

/** The two ends of one worker, joined without a process between them. */
function fakeWorker(timeoutMs?: number) {
  const parent = new EventEmitter();
  const child = new EventEmitter();
  let connected = true;
  const peers = workerPeers(
    {
      send: (message) => void queueMicrotask(() => parent.emit('message', message)),
      on: (event, listener) => child.on(event, listener),
    },
    timeoutMs,
  );
  const end = {
    send: (message: unknown) => queueMicrotask(() => child.emit('message', message)) === undefined,
    on: (event: string, listener: (...args: unknown[]) => void) => {
      parent.on(event, listener);
      return end;
    },
    isConnected: () => connected,
  };
  const exit = () => {
    connected = false;
    parent.emit('exit', 1);
  };
  return { peers, end, exit, parent };
}

type FakeWorker = ReturnType<typeof fakeWorker>;

function joined(count: number, timeoutMs?: number): FakeWorker[] {
  const relay = createPeerRelay();
  const workers = Array.from({ length: count }, () => fakeWorker(timeoutMs));
  for (const { end } of workers) relay.join(end as unknown as Parameters<typeof relay.join>[0]);
  return workers;
}

const refused = {
  name: 'ServiceUnavailableError',
  message: 'the change was saved, but a process of this server has not loaded it yet: send the request again',
};

function counting(peers: WorkerPeers): { times: number } {
  const count = { times: 0 };
  peers.answerWith(async () => {
    count.times += 1;
  });
  return count;
}

test('a refresh ends when every other process has read the store, once for each question', async (t) => {
  const workers = joined(3);
  const counts = workers.map(({ peers }) => counting(peers));
  await workers[0]?.peers.refresh();
  t.deepEqual(
    counts.map(({ times }) => times),
    [0, 1, 1],
  );
  await Promise.all([workers[0]?.peers.refresh(), workers[1]?.peers.refresh()]);
  t.deepEqual(
    counts.map(({ times }) => times),
    [1, 2, 3],
  );
});

test('a process that starts answers as soon as it reads its store', async (t) => {
  const [first, late] = joined(2);
  let done = false;
  const asked = first?.peers.refresh().then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.false(done);
  if (late !== undefined) counting(late.peers);
  await asked;
  t.true(done);
});

test('a process that cannot read its store, or is silent, is not a yes', async (t) => {
  const [first, second] = joined(2, 20);
  second?.peers.answerWith(() => Promise.reject(new Error('disk')));
  await t.throwsAsync(async () => first?.peers.refresh(), refused);
  const [asking] = joined(2, 20);
  await t.throwsAsync(async () => asking?.peers.refresh(), refused);
});

test('a process that ended has nothing to follow, and a message of another kind is nothing', async (t) => {
  const [first, second, third] = joined(3);
  if (third !== undefined) counting(third.peers);
  const asked = first?.peers.refresh();
  second?.parent.emit('message', { baseUrl: 'https://localhost' });
  second?.exit();
  await t.notThrowsAsync(async () => asked);
  await t.notThrowsAsync(async () => first?.peers.refresh());
});

test('only the process that was asked can answer', async (t) => {
  const [first, second, silent] = joined(3, 20);
  if (second !== undefined) counting(second.peers);
  const asked = first?.peers.refresh();
  for (let id = 1; id < 4; id += 1) second?.parent.emit('message', { kind: 'store-read', id, ok: true });
  await t.throwsAsync(async () => asked, refused);
  t.truthy(silent);
});
