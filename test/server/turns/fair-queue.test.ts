import { FairQueue } from '@signet/server/turns/fair-queue';
import test from 'ava';

function queueOf(places: number, laneShare: number) {
  const queue = new FairQueue<string>({ places, laneShare });
  const rest = () => {
    const order: string[] = [];
    for (let item = queue.next(); item !== undefined; item = queue.next()) order.push(item);
    return order.join(' ');
  };
  const add = (...items: readonly string[]) => items.map((item) => queue.add(item.slice(0, 1), item));
  return { queue, add, rest };
}

test('lanes take turns; within one the first comes first', (t) => {
  const { add, rest } = queueOf(100, 100);
  add('a1', 'a2', 'a3', 'b1', 'b2', 'c1');
  t.is(rest(), 'a1 b1 c1 a2 b2 a3');
  t.is(rest(), '');
});

test('who was served last waits for the others, however much of it waits', (t) => {
  const { queue, add, rest } = queueOf(100, 100);
  queue.take('a');
  add('a1', 'a2', 'b1');
  t.is(queue.next(), 'b1');
  add('b2', 'c1');
  t.is(rest(), 'a1 b2 c1 a2');
  add('a3', 'a4');
  t.is(rest(), 'a3 a4');
});

test('a lane has its share, and all have the places that there are', (t) => {
  const { queue, add, rest } = queueOf(4, 2);
  t.deepEqual(add('a1', 'a2', 'a3', 'b1', 'c1', 'd1'), [undefined, undefined, 'share', undefined, undefined, 'busy']);
  t.true(queue.remove('a', 'a1'));
  t.false(queue.remove('a', 'a1'));
  t.false(queue.remove('z', 'z1'));
  t.deepEqual(add('a4', 'd2'), [undefined, 'busy']);
  t.is(rest(), 'a2 b1 c1 a4');
  t.deepEqual(add('d3', 'd4', 'd5'), [undefined, undefined, 'share']);
});

test('all that waits is taken out at once', (t) => {
  const { queue, add, rest } = queueOf(4, 4);
  add('a1', 'b1', 'a2');
  t.deepEqual(queue.clear(), ['a1', 'a2', 'b1']);
  t.is(rest(), '');
  t.deepEqual(add('c1', 'c2', 'c3', 'c4', 'd1'), [undefined, undefined, undefined, undefined, 'busy']);
});
