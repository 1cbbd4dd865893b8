import { EventEmitter } from 'node:events';
import { type SlowConnectionOptions, SlowConnections } from '@signet/server/http/slow-connections';
import test from 'ava';

/* Connections and answers that do what the test says, by a clock that it moves. */
class Connection extends EventEmitter {
  bytesWritten = 0;
  writableLength = 0;
  destroyed = false;

  destroy() {
    this.destroyed = true;
    this.emit('close');
  }
}

class Answer extends EventEmitter {
  headersSent = false;
}

function world(options: Partial<SlowConnectionOptions> = {}) {
  let now = 0;
  const closed: string[] = [];
  const slow = new SlowConnections({
    stallMs: 1000,
    answerMs: 10_000,
    idleMs: 5000,
    now: () => now,
    onClose: (reason) => closed.push(reason),
    ...options,
  });
  const connection = new Connection();
  slow.met(connection as never);
  return {
    connection,
    closed,
    asked() {
      const answer = new Answer();
      slow.asked(connection as never, answer as never);
      return answer;
    },
    at(time: number) {
      now = time;
      slow.sweep();
      return connection.destroyed;
    },
  };
}

test('an answer of which nothing is read ends its connection after the time for that, and not before', (t) => {
  const { asked, at, closed } = world();
  const answer = asked();
  t.false(at(4000), 'its handler is still at work');
  answer.headersSent = true;
  t.false(at(5000));
  t.false(at(6000));
  t.true(at(6001));
  t.deepEqual(closed, ['answer not read']);
});

test('an answer of which a little is read now and then ends its connection after the time for the whole', (t) => {
  const { connection, asked, at, closed } = world();
  asked().headersSent = true;
  connection.writableLength = 100;
  for (let time = 0; time <= 10_000; time += 1000) {
    connection.bytesWritten += 1;
    t.false(at(time), String(time));
  }
  t.true(at(10_001));
  t.deepEqual(closed, ['answer read too slowly']);
});

test('what the connection takes of what it was given counts as read', (t) => {
  const { connection, asked, at } = world();
  asked().headersSent = true;
  connection.bytesWritten = 100;
  connection.writableLength = 100;
  t.false(at(0));
  connection.writableLength = 99;
  t.false(at(1000));
  t.false(at(2000));
  t.true(at(2001));
});

test('each answer has its own time, also of those that wait behind another', (t) => {
  const { asked, at } = world();
  const [first, second] = [asked(), asked()];
  first.headersSent = true;
  t.false(at(0));
  t.false(at(900));
  first.emit('close');
  second.headersSent = true;
  t.false(at(1500));
  t.false(at(2500));
  t.true(at(2501));
});

test('a connection without a request ends after the time for that, whatever else comes on it', (t) => {
  const { asked, at, closed } = world();
  t.false(at(5000));
  const answer = asked();
  t.false(at(20_000), 'a request is being worked on');
  answer.emit('close');
  t.false(at(25_000));
  t.true(at(25_001));
  t.deepEqual(closed, ['idle']);
});
