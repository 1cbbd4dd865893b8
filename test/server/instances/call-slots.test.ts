import { CallSlots } from '@signet/server/instances/attestation/call-slots';
import test from 'ava';

const registers = (key: string) => ({ key, operation: 'register' }) as const;
const refreshes = (key: string) => ({ key, operation: 'refresh' }) as const;

test('one caller holds its share of the calls, and gets another when one ends', (t) => {
  const slots = new CallSlots();
  for (let count = 0; count < 24; count += 1) t.is(slots.take(registers('one')), undefined);
  t.is(slots.take(registers('one')), 'caller');
  t.is(slots.take(registers('two')), undefined);
  slots.release(registers('one'));
  t.is(slots.take(registers('one')), undefined);
  t.is(slots.take(registers('one')), 'caller');
});

test('registrations leave a part of the calls to instances that are registered', (t) => {
  const slots = new CallSlots();
  for (let count = 0; count < 96; count += 1) t.is(slots.take(registers(String(count))), undefined);
  t.is(slots.take(registers('one more')), 'registrations');
  for (let count = 0; count < 32; count += 1) t.is(slots.take(refreshes(String(count))), undefined);
  t.is(slots.take(refreshes('one more')), 'all');
  slots.release(registers('0'));
  t.is(slots.take(refreshes('one more')), undefined, 'which may take all that is free');
  t.is(slots.take(registers('one more')), 'all');
});

test('nothing is kept of calls that ended', (t) => {
  const slots = new CallSlots();
  slots.take(registers('one'));
  slots.take(refreshes('one'));
  t.false(slots.isIdle);
  slots.release(refreshes('one'));
  slots.release(registers('one'));
  t.true(slots.isIdle);
  for (let count = 0; count < 96; count += 1) t.is(slots.take(registers(String(count))), undefined);
});
