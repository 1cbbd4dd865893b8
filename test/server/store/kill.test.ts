import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { openSqliteStore } from '@signet/server/store/sqlite/open';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const points = Number(process.env['SIGNET_KILLS'] ?? 20);

/** Saves domains d0, d1, … one after the other, and says each name when the store has acknowledged it. */
const writer = (file: string, from: (path: string) => string) => `
  import { openSqliteStore } from ${from('@signet/server/store/sqlite/open')};
  import { domainContent } from ${from('#support/domains')};
  const store = await openSqliteStore(${JSON.stringify(file)});
  const known = await store.domainNames();
  process.stdout.write('ready\\n');
  for (let n = known.length; ; n += 1) {
    const members = Array.from({ length: 50 }, (_, index) => 'media.s' + index);
    await store.change({ actor: 'child' }, (change) => change.saveDomain(domainContent('d' + n, { roles: { r: members } })));
    process.stdout.write('d' + n + '\\n');
  }
`;

test('killed at any moment: what was acknowledged is there, whole, and the store opens at once', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const script = join(folder, 'write.ts');
  writeFileSync(
    script,
    writer(file, (path) => JSON.stringify(import.meta.resolve(path))),
  );
  const acknowledged = new Set<string>();
  for (let point = 0; point < points; point += 1) {
    const child = spawn(process.execPath, ['--conditions=@signet/source', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    const lines = createInterface({ input: child.stdout });
    lines.on('line', (line) => {
      if (line !== 'ready') acknowledged.add(line);
    });
    await once(lines, 'line');
    await pause(Math.random() * 60);
    child.kill('SIGKILL');
    await ended;
    const start = performance.now();
    const store = await openSqliteStore(file);
    t.true(performance.now() - start < 2000);
    const { domains, state } = await store.changesSince();
    const names = new Set(domains.map((domain) => String(domain.name)));
    for (const name of acknowledged) t.true(names.has(name), `${name} was lost at point ${point}`);
    t.true(domains.every((domain) => domain.version === 1 && domain.roles[0]?.members.length === 50));
    t.is(state.counter, domains.length);
    t.is((await store.audit({ limit: 100_000 })).length, domains.length);
    await store.close();
  }
  t.true(acknowledged.size > 0);
});
