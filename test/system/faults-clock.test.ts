import test from 'ava';
import { json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { readinessOf } from '#support/operators';
import { runProgram } from '#support/run-program';
import { install, type Serving, serve } from '#support/signet-program';
import { until } from '#support/until';

/* A clock that is set wrong under a running server (`faketime`), and one that is wrong from the start, beside a server whose clock is right. */

/** Library that `faketime` loads into a program; undefined where it is not installed. */
async function fakeClockLibrary(): Promise<string | undefined> {
  const finished = await runProgram('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']).catch(() => undefined);
  return finished?.status === 0 ? finished.stdout.trim() : undefined;
}

/** Runs the server by a clock that is off by `offset`, such as `+2h`, with the library alone: a wrapper would keep signals from it. */
function clockOff(library: string, offset: string): string {
  return `export LD_PRELOAD='${library}' FAKETIME='${offset}' DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1`;
}

test.serial(
  'one server with a wrong clock makes no other unready, and is unready itself when it is set back',
  async (t) => {
    t.timeout(120_000);
    const library = await fakeClockLibrary();
    if (library === undefined) return t.pass('faketime is not installed');
    const installation = await install(t, { domains: loadDomains });
    const { pki } = installation;
    const right = await serve(t, installation);
    t.like(await readinessOf(right, pki), { code: 200, status: 'ready', degraded: undefined });
    const ahead = await serve(t, installation, { limits: clockOff(library, '+90m') });
    const operator = await installation.pki.identity('sys.auth.operator');
    const change = (serving: Serving, role: string) =>
      serving.as(operator)(`^/management/v1/domains/load/roles/${role}`, json({ members: ['media.x'] }, 'PUT'));
    t.is((await change(right, 'a')).status, 201);
    t.is((await change(ahead, 'b')).status, 201);
    await until(
      'the right one sees the record',
      async () => (await readinessOf(right, pki))['clock'] === 'degraded',
      20_000,
    );
    t.like(await readinessOf(right, pki), { code: 200, status: 'ready', degraded: true, clock: 'degraded' });
    t.like(await readinessOf(ahead, pki), { code: 200, status: 'ready', degraded: undefined });
    t.is((await change(right, 'c')).status, 201);
    await until(
      'its own record ends it',
      async () => (await readinessOf(right, pki))['degraded'] === undefined,
      20_000,
    );
    await ahead.end();
    await right.end();

    // The clock is set back while nothing runs: the last record is of the server itself.
    const back = await serve(t, installation, { limits: clockOff(library, '-5m') });
    t.like(await readinessOf(back, pki), { code: 503, status: 'clock', clock: 'wrong' });
    t.is((await change(back, 'd')).status, 201, 'it answers all the same');
    // Its refresh of the state, after what was written by the wrong clock.
    await until('the change is seen', async () => {
      const { body } = await back.as(operator)('^/management/v1/domains/load/roles/d');
      return body !== undefined;
    });
    t.like(await readinessOf(back, pki), { code: 503, status: 'clock' }, 'what it writes is not a witness');
    await back.end();
    const again = await serve(t, installation, { limits: clockOff(library, '-5m') });
    t.is((await change(again, 'e')).status, 201);
    t.like(await readinessOf(again, pki), { code: 503, status: 'clock' }, 'nor after it was started again');
    const limits = clockOff(library, '-5m');
    const accepted = await installation.limitedSignet(limits, 'store', 'accept-clock', '--reason', 'it is right');
    t.is(accepted.status, 0, accepted.stderr);
    await until('it is ready', async () => (await readinessOf(again, pki))['code'] === 200, 20_000);
    t.log('+90 min beside a right clock: both ready; 5 min back: 503 (status clock) until somebody says it is right');
    await again.end();
  },
);
