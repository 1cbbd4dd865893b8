import { mock } from 'node:test';
import type { Refusal } from '@signet/server/budgets/budgets';
import { countRefusals } from '@signet/server/budgets/refusals';
import test from 'ava';

test.serial(
  'refusals are one line a minute, with those who were refused most; names without end are counted together',
  (t) => {
    mock.timers.enable({ apis: ['setInterval'] });
    t.teardown(() => mock.timers.reset());
    const lines: unknown[] = [];
    const refusals = countRefusals({ warn: (...line: unknown[]) => void lines.push(line) });
    const refused = (name: string): Refusal => ({ payer: 'address', name, over: 'work', waitMs: 1 });
    for (let index = 0; index < 5000; index += 1) refusals.request(refused('203.0.113.1'));
    for (let index = 0; index < 1000; index += 1) refusals.request(refused(`name-${index}`));
    refusals.request({ payer: 'certificate', name: 'media.player', over: 'in-flight', waitMs: 1 });
    refusals.connection(refused('203.0.113.2'));
    refusals.waiting(refused('203.0.113.3'));
    refusals.header('10.0.0.1', 'no signature');
    t.deepEqual(lines, []);
    mock.timers.tick(60_000);
    t.is(lines.length, 4);
    const [requests, waiting, connections, headers] = lines as [
      { refused: number; most: Record<string, number> },
      string,
    ][];
    t.is(requests?.[0].refused, 6001);
    t.is(Object.keys(requests?.[0].most ?? {}).length, 10);
    t.is(requests?.[0].most['address 203.0.113.1 (work)'], 5000);
    // The thousandth name and all after it.
    t.is(requests?.[0].most['others'], 2);
    t.deepEqual(waiting?.[0], { waited: 1, most: { 'address 203.0.113.3 (work)': 1 } });
    t.deepEqual(connections?.[0], { refused: 1, most: { 'address 203.0.113.2 (work)': 1 } });
    t.deepEqual(headers?.[0], { refused: 1, most: { '10.0.0.1: no signature': 1 } });
    mock.timers.tick(60_000);
    t.is(lines.length, 4, 'nothing new is said');
    refusals.connection(refused('203.0.113.2'));
    refusals.close();
    t.is(lines.length, 5);
    mock.timers.tick(120_000);
    t.is(lines.length, 5);
  },
);
