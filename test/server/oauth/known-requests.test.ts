import { InvalidRequestError } from '@signet/server/errors';
import { knownRequests } from '@signet/server/oauth/known-requests';
import { parseScope } from '@signet/server/oauth/scope';
import test from 'ava';

/** Reads forms, and writes down which. */
function world() {
  const read: string[] = [];
  const requestOf = knownRequests((form) => {
    read.push(form);
    if (form === 'bad') throw new InvalidRequestError('bad');
    return { scope: parseScope('catalog:domain') };
  });
  return { read, requestOf };
}

test('a form is read once, and one that is refused each time', (t) => {
  const { read, requestOf } = world();
  t.is(requestOf('a'), requestOf('a'));
  t.not(requestOf('A'), requestOf('a'));
  for (let time = 0; time < 2; time += 1) t.throws(() => requestOf('bad'), { instanceOf: InvalidRequestError });
  t.deepEqual(read, ['a', 'A', 'bad', 'bad']);
});

test('of more forms than are kept the eldest is read again', (t) => {
  const { read, requestOf } = world();
  for (let form = 0; form < 1000; form += 1) requestOf(String(form));
  requestOf('0');
  t.is(read.length, 1000);
  requestOf('1000');
  requestOf('0');
  t.is(read.length, 1001, 'it was asked for lately');
  requestOf('1');
  t.is(read.length, 1002);
});

test('a form that is longer than any usual one is read each time', (t) => {
  const { read, requestOf } = world();
  for (const length of [512, 512, 513, 513]) requestOf('x'.repeat(length));
  t.deepEqual(
    read.map(({ length }) => length),
    [512, 513, 513],
  );
});
