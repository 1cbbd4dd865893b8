import type { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { mock } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import type { Account, Refusal } from '@signet/server/budgets/budgets';
import { ConnectionQueue } from '@signet/server/http/connection-queue';
import test from 'ava';

/* Test clock for the timers; accounts have a limited number of handshakes. */

mock.timers.enable({ apis: ['setInterval', 'setTimeout'] });
test.after.always('timers', () => mock.timers.reset());

const refused: Refusal = { payer: 'address', name: 'x', over: 'work', waitMs: 1 };

/** Account that pays `handshakes`, and is in debt after that. */
function accountWith(handshakes: number) {
  const left = { handshakes };
  const account = { refusal: () => (left.handshakes > 0 ? undefined : refused) };
  return { left, account: account as Account };
}

function world(reserved = 0) {
  const reserve = accountWith(reserved);
  const refusals: Refusal[] = [];
  const begun: string[] = [];
  const queue = new ConnectionQueue({
    reserve: reserve.account,
    waitMs: 5000,
    onRefused: (refusal) => void refusals.push(refusal),
  });
  const add = (name: string, key: string, own = accountWith(0)) => {
    const socket = new PassThrough();
    const begin = (payer: Account) => {
      begun.push(name);
      (payer === own.account ? own : reserve).left.handshakes -= 1;
    };
    queue.add({ socket: socket as unknown as Socket, key, own: own.account, begin });
    return { socket, own };
  };
  return { queue, reserve, refusals, begun, add };
}

test.serial('those of one address begin as they came, and each address has its turn after the others', (t) => {
  const { queue, reserve, begun, add } = world();
  for (const name of ['a1', 'a2', 'a3']) add(name, 'a');
  for (const name of ['b1', 'b2']) add(name, 'b');
  add('c1', 'c');
  mock.timers.tick(100);
  t.deepEqual(begun, [], 'nobody pays');
  reserve.left.handshakes = 4;
  mock.timers.tick(20);
  t.deepEqual(begun, ['a1', 'b1', 'c1', 'a2']);
  t.true(queue.has('a') && queue.has('b'));
  t.false(queue.has('c'));
  reserve.left.handshakes = 4;
  mock.timers.tick(20);
  t.deepEqual(begun.slice(4), ['b2', 'a3']);
  t.false(queue.has('a') || queue.has('b'));
});

test.serial('an address that is out of debt pays itself, and the reserve is for the others', (t) => {
  const { reserve, begun, add } = world(1);
  const { own } = add('a1', 'a');
  add('a2', 'a', own);
  add('b1', 'b');
  own.left.handshakes = 2;
  mock.timers.tick(20);
  t.deepEqual(begun, ['a1', 'a2', 'b1']);
  t.deepEqual([own.left.handshakes, reserve.left.handshakes], [0, 0]);
});

test.serial('with one more than may wait, the newest of the longest line is closed', (t) => {
  const { queue, refusals, begun, reserve, add } = world();
  const flood = Array.from({ length: 255 }, (_, index) => add(`f${index}`, 'flood'));
  add('other', 'other');
  t.deepEqual(refusals, [], 'exactly as many as may wait');
  const late = add('late', 'other');
  t.deepEqual(refusals, [refused]);
  t.true(flood.at(-1)?.socket.destroyed);
  t.false(late.socket.destroyed);
  const more = add('more', 'flood');
  t.true(more.socket.destroyed);
  reserve.left.handshakes = 1000;
  mock.timers.tick(20);
  t.is(begun.length, 256);
  t.false(queue.has('flood'));
});

test.serial('what a client sent before its turn is there to be read, up to a first message', async (t) => {
  const { begun, reserve, add } = world();
  const small = add('small', 'a').socket;
  const large = add('large', 'a').socket;
  small.write(Buffer.alloc(20_000, 1));
  small.write(Buffer.alloc(12_768, 2));
  large.write(Buffer.alloc(32_769));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  t.true(large.destroyed, 'one byte more');
  reserve.left.handshakes = 2;
  mock.timers.tick(20);
  t.deepEqual(begun, ['small']);
  t.deepEqual(small.read(), Buffer.concat([Buffer.alloc(20_000, 1), Buffer.alloc(12_768, 2)]));
});

test.serial('who gives up, breaks or waits too long takes no turn', async (t) => {
  const { queue, begun, refusals, reserve, add } = world();
  const [gone, broken, late] = ['gone', 'broken', 'late'].map((name) => add(name, name).socket);
  gone?.end('hello');
  broken?.destroy(new Error('reset'));
  for (let turns = 0; turns < 5; turns += 1) await turn();
  t.true(gone?.destroyed);
  t.false(queue.has('gone') || queue.has('broken'));
  mock.timers.tick(4999);
  t.true(queue.has('late'));
  t.deepEqual(refusals, []);
  mock.timers.tick(1);
  t.true(late?.destroyed);
  t.deepEqual(refusals, [refused]);
  reserve.left.handshakes = 5;
  mock.timers.tick(20);
  t.deepEqual(begun, []);
});
