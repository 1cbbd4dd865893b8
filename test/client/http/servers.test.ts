import test from 'ava';
import { FakeClock } from '#support/clock';
import { internals } from '../../limits/row.ts';

/* The order in which servers are asked, and when the rest of one that failed is over. */

interface Servers {
  inOrder(): readonly string[];
  failed(url: string): void;
  answered(url: string): void;
}
const { Servers } = await internals<{ Servers: new (urls: readonly string[], clock: FakeClock) => Servers }>(
  'client/src/http/servers.ts',
);

test('a server that failed comes last until it has rested, or has answered', (t) => {
  const clock = new FakeClock();
  const servers = new Servers(['a', 'b', 'c'], clock);
  t.deepEqual(servers.inOrder(), ['a', 'b', 'c']);
  servers.failed('a');
  t.deepEqual(servers.inOrder(), ['b', 'c', 'a']);
  clock.advance(29_999);
  t.deepEqual(servers.inOrder(), ['b', 'c', 'a']);
  clock.advance(1);
  t.deepEqual(servers.inOrder(), ['a', 'b', 'c']);
  servers.failed('b');
  servers.answered('b');
  t.deepEqual(servers.inOrder(), ['a', 'b', 'c']);
  servers.failed('c');
  clock.advance(-60_000);
  t.deepEqual(servers.inOrder(), ['a', 'b', 'c'], 'the clock was set back');
});
