import { EventEmitter } from 'node:events';
import { outstanding } from '@signet/server/http/outstanding';
import test from 'ava';

/** Requests of one connection, and how often one of them was over. */
function world(connectionRequests = 10) {
  const counted = outstanding(
    { connectionRequests, connectionBytes: 1000, principalBytes: 1000 },
    { bodyLimit: () => 0, isProbe: () => false },
  );
  const socket = new EventEmitter();
  const state = { path: '/', address: '192.0.2.1', announcedBytes: 0 };
  let over = 0;
  const ask = () => {
    const res = new EventEmitter();
    const ctx = { req: { socket, headers: {} }, res, state, body: 'answer' };
    const leave = () => {
      over += 1;
    };
    return { res, count: () => counted(ctx as never, { leave }) };
  };
  return { ask, socket, over: () => over };
}

test('a request is over when its answer was taken, and once', (t) => {
  const { ask, socket, over } = world();
  const { res, count } = ask();
  count();
  t.is(over(), 0);
  res.emit('close');
  socket.emit('close');
  t.is(over(), 1);
});

test('requests that wait for their turn are over when their connection ends', (t) => {
  const { ask, socket, over } = world();
  for (const { count } of [ask(), ask(), ask()]) count();
  // Their answers were never given a connection, so nobody tells of their end.
  socket.emit('close');
  t.is(over(), 3);
});

test('a request that is one too many is over with its refusal, and the next one has room', (t) => {
  const { ask, over } = world(1);
  const [first, refused, next] = [ask(), ask(), ask()];
  first.count();
  t.throws(refused.count, { message: 'the connection has too many requests without an answer' });
  refused.res.emit('close');
  t.is(over(), 1);
  first.res.emit('close');
  t.notThrows(next.count);
});
