import { EventEmitter } from 'node:events';
import { collectReadings, workerReadings } from '@signet/server/cli/worker-readings';
import { exposition } from '@signet/server/metrics/readings';
import { createServerMetrics } from '@signet/server/metrics/server-metrics';
import test from 'ava';
import { seriesIn } from '#support/scrape';

/** A worker with metrics of its own; messages pass as JSON, as between processes. */
function startWorker(state: { isMute?: boolean } = {}) {
  const { observer, follow, read } = createServerMetrics();
  const parentEnd = new EventEmitter();
  const own = new EventEmitter();
  let questions = 0;
  let isConnected = true;
  let counter = 5;
  follow(() => ({
    now: 0,
    clockDoubtedBy: [],
    snapshot: { counter, refreshedAt: 0, domains: 1 },
    store: { isUp: true, isWritable: true, isDiverged: false },
    keys: [],
    certificates: [],
  }));
  const readings = workerReadings({
    send: (message) => void (state.isMute || parentEnd.emit('message', JSON.parse(JSON.stringify(message)))),
    on: (event, listener) => own.on(event, listener),
  });
  return {
    observer,
    readings,
    begin: () => {
      readings.answerWith(read);
      return readings.tellLast();
    },
    questions: () => questions,
    reach: (to: number) => {
      counter = to;
    },
    end: Object.assign(parentEnd, {
      send: (message: unknown) => {
        questions += 1;
        return own.emit('message', JSON.parse(JSON.stringify(message)));
      },
      isConnected: () => isConnected,
    }),
    exit: () => {
      isConnected = false;
      parentEnd.emit('exit');
    },
  };
}

function server(timeoutMs?: number) {
  const warnings: unknown[] = [];
  const readings = collectReadings({ warn: (line: unknown) => void warnings.push(line) }, timeoutMs);
  const scrape = async () => seriesIn((await exposition(await readings.read(), 'text')).text);
  const join = (worker: ReturnType<typeof startWorker>) => {
    readings.join(worker.end as never);
    return worker.begin();
  };
  return { readings, scrape, join, warnings };
}

const tokens = 'signet_tokens_issued_total{kind="access"}';

test('counters are summed up, gauges show the worst', async (t) => {
  const { scrape, join } = server();
  const [one, two] = [startWorker(), startWorker()];
  await join(one);
  await join(two);
  one.observer.signed('access');
  two.observer.signed('access');
  two.observer.signed('access');
  two.reach(4);
  const series = await scrape();
  t.is(series.get(tokens), 3);
  t.is(series.get('signet_snapshot_position'), 4);
  t.is(series.get('signet_workers{state="answering"}'), 2);
  t.is(series.get('signet_workers{state="silent"}'), 0);
});

test('what an ended process had counted stays, whoever replaces it, each once', async (t) => {
  const { scrape, join } = server();
  const [one, two] = [startWorker(), startWorker()];
  await join(one);
  await join(two);
  one.observer.signed('access');
  one.observer.storeUsed('look', 0.002);
  two.observer.signed('access');
  t.is((await scrape()).get(tokens), 2);
  one.exit();
  const between = await scrape();
  t.is(between.get(tokens), 2);
  t.is(between.get('signet_workers{state="answering"}'), 1);
  t.is(between.get('signet_store_operation_duration_seconds_count{operation="look"}'), 1);
  const three = startWorker();
  await join(three);
  three.observer.signed('access');
  t.is((await scrape()).get(tokens), 3);
  three.exit();
  two.exit();
  t.is((await scrape()).get(tokens), 3);
});

test('a process that ends in order tells what it counted since the last scrape', async (t) => {
  const { scrape, join } = server();
  const one = startWorker();
  await join(one);
  await scrape();
  one.observer.signed('access');
  await one.readings.tellLast();
  one.exit();
  t.is((await scrape()).get(tokens), 1);
});

test('a process that does not answer holds no scrape up: it counts as it last did, and its gauges are left out', async (t) => {
  const { scrape, join, warnings } = server(20);
  const state = { isMute: false };
  const [one, two] = [startWorker(state), startWorker()];
  await join(one);
  await join(two);
  one.reach(1);
  one.observer.signed('access');
  t.is((await scrape()).get('signet_snapshot_position'), 1);
  state.isMute = true;
  one.observer.signed('access');
  const silent = await scrape();
  t.is(silent.get(tokens), 1);
  t.is(silent.get('signet_snapshot_position'), 5);
  t.is(silent.get('signet_workers{state="silent"}'), 1);
  const asked = one.questions();
  await scrape();
  t.is(one.questions(), asked, 'it is not asked again before it has answered');
  t.deepEqual(warnings, [{ silent: 1 }, { silent: 1 }]);
  state.isMute = false;
  await one.readings.tellLast();
  t.is((await scrape()).get(tokens), 2);
});

test('a process that still starts is not asked, and holds nothing up', async (t) => {
  const { scrape, join } = server();
  const questions: unknown[] = [];
  const starting = Object.assign(new EventEmitter(), {
    send: (message: unknown) => questions.push(message),
    isConnected: () => true,
  });
  await join({ ...startWorker(), end: starting } as never);
  const series = await scrape();
  t.is(series.get('signet_workers{state="answering"}'), 0);
  t.is(series.get('signet_workers{state="silent"}'), 0);
  t.deepEqual(questions, []);
});

test('scrapes at the same time ask once', async (t) => {
  const { readings, join } = server();
  const one = startWorker();
  await join(one);
  await Promise.all([readings.read(), readings.read(), readings.read()]);
  t.is(one.questions(), 1);
});
