import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { assertWithin } from '#support/cost';
import { json } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { runProgram } from '#support/run-program';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

/* The disk fails, or is full, exactly where the witness of the store is written: after the commit, before anybody is told. */

for (const [what, call, error] of [
  ['is full where', 'pwrite64', 'ENOSPC'],
  ['fails where', 'fdatasync', 'EIO'],
] as const) {
  test.serial(
    `the disk ${what} the witness is written: what is acknowledged is there, and the store is taken`,
    async (t) => {
      t.timeout(120_000);
      const traced = await runProgram('strace', ['-V']).catch(() => undefined);
      if (traced?.status !== 0) return t.pass('strace is not installed: no call of the system can be made to fail');
      const installation = await install(t, { domains: loadDomains });
      const trace = join(installation.folder, 'trace');
      const serving = await serve(t, installation);
      const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
      let count = 0;
      const told = new Set<string>();
      const change = async () => {
        const role = `r${count}`;
        count += 1;
        const { status } = await operator(
          `^/management/v1/domains/load/roles/${role}`,
          json({ members: ['media.m'] }, 'PUT'),
        );
        if (status === 201) told.add(role);
        return status;
      };
      t.is(await change(), 201);
      const args = ['-f', '-qq', '-P', `${installation.storeFile}.witness`, '-e', `trace=${call}`];
      const inject = ['-e', `inject=${call}:error=${error}`, '-o', trace, '-p', String(serving.pid)];
      const tracer = spawn('strace', [...args, ...inject], { stdio: 'ignore' });
      t.teardown(() => void tracer.kill());
      await until('a change is refused', async () => (await change()) === 503, 60_000);
      const refused: number[] = [];
      for (let n = 0; n < 5; n += 1) refused.push(await change());
      t.deepEqual(refused, [503, 503, 503, 503, 503]);
      t.true(existsSync(trace) && readFileSync(trace, 'utf8').includes(`${error} `), 'nothing was made to fail');
      const ended = once(tracer, 'exit');
      tracer.kill('SIGINT');
      await ended;
      await until('changes are taken again', async () => (await change()) === 201, 60_000);
      t.is(await serving.end('SIGKILL'), 'SIGKILL');
      const again = await serve(t, installation);
      const store = await openSqliteStore(installation.storeFile, { readonly: true });
      const roles = new Set((await store.domain(parseDomainName('load')))?.roles.map(({ name }) => String(name)));
      await store.close();
      t.is(await again.end(), 0);
      t.log(`${told.size} of ${count} changes acknowledged, ${roles.size - 1} there`);
      assertWithin(t, 'acknowledged changes lost', [...told].filter((role) => !roles.has(role)).length, 0);
      t.deepEqual((await checkStore(installation.storeFile)).faults, []);
    },
  );
}

test.serial('killed where the witness could not be written: the next start is not refused', async (t) => {
  t.timeout(120_000);
  const traced = await runProgram('strace', ['-V']).catch(() => undefined);
  if (traced?.status !== 0) return t.pass('strace is not installed: no call of the system can be made to fail');
  const installation = await install(t, { domains: loadDomains });
  const serving = await serve(t, installation);
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  const args = ['-f', '-qq', '-P', `${installation.storeFile}.witness`, '-e', 'trace=pwrite64'];
  const inject = ['-e', 'inject=pwrite64:error=ENOSPC', '-p', String(serving.pid)];
  const tracer = spawn('strace', [...args, ...inject], { stdio: 'ignore' });
  t.teardown(() => void tracer.kill());
  let count = 0;
  await until('a change is refused', async () => {
    count += 1;
    const path = `^/management/v1/domains/load/roles/r${count}`;
    return (await operator(path, json({ members: [] }, 'PUT'))).status === 503;
  });
  t.is(await serving.end('SIGKILL'), 'SIGKILL');
  const again = await serve(t, installation);
  t.is(await again.end(), 0);
});
