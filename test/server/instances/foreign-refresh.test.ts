import { TestClock } from '@signet/policy-engine/testing';
import type { Caller } from '@signet/server/instances/caller';
import { foreignRefreshAlarm, foreignRefreshPauseMs } from '@signet/server/instances/foreign-refresh';
import type { InstanceKey } from '@signet/server/model/instance-store';
import test from 'ava';

const key = { provider: 'sys.auth.server', domain: 'media', service: 'player', instanceId: 'i-1' } as InstanceKey;
const caller = (serial: string) =>
  ({ principal: 'media.player', certificate: { serial }, requestId: 'r-1' }) as unknown as Caller;

test('the log gets each foreign refresh, the audit log one for a certificate in a minute, also when the clock goes back', async (t) => {
  const clock = new TestClock(1_767_225_600_000);
  const recorded: string[] = [];
  const lines: unknown[] = [];
  const note = foreignRefreshAlarm({
    clock,
    logger: { warn: (fields: unknown) => lines.push(fields) },
    store: {
      change: async (context, change) => {
        const recordForeignRefresh = (at: InstanceKey, serial: string) => {
          recorded.push(`${serial} ${at.instanceId} ${context.actor} ${context.reason}`);
          return Promise.resolve();
        };
        return await change({ recordForeignRefresh } as unknown as Parameters<typeof change>[0]);
      },
    },
  });
  const record = (serial: string) => `${serial} i-1 media.player the certificate is not one of this instance`;
  const expected: string[] = [];
  const attempt = async (serial: string, isRecorded: boolean) => {
    await note(caller(serial), key);
    if (isRecorded) expected.push(record(serial));
    t.deepEqual(recorded, expected);
  };
  await attempt('0a', true);
  await attempt('0a', false);
  await attempt('0b', true);
  clock.advance(foreignRefreshPauseMs - 1);
  await attempt('0a', false);
  clock.advance(1);
  await attempt('0a', true);
  clock.advance(1 - foreignRefreshPauseMs);
  await attempt('0a', false);
  clock.advance(-1);
  await attempt('0a', true);
  t.is(lines.length, 7);
});
