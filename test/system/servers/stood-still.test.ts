import { setTimeout as pause } from 'node:timers/promises';
import { loadConfig } from '@signet/server/config/config';
import { openStore } from '@signet/server/store/open';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { noPostgres, postgresPrograms, startPostgres } from '#support/postgres';
import { saveDomain } from '#support/save-domain';
import { install, serve } from '#support/signet-program';
import { wholeFile } from '#support/start-server';

const file = wholeFile();
const server = postgresPrograms === undefined ? undefined : await startPostgres(file);
test.after.always(() => file.end());

const catalog = (reader: readonly string[]) =>
  ({ name: 'catalog', roles: { reader }, policies: { p: [['ALLOW', 'reader', 'read', 'movie']] } }) as const;
/** More than the interval of looks and the two seconds by which a process may be late for other reasons. */
const standstillMs = 3000;

if (server === undefined) test.skip(noPostgres, (t) => t.pass());
else {
  test('a server that stood still decides nothing by what it knew before', async (t) => {
    const domains = [catalog(['media.player']), { name: 'media', services: { player: {} } }];
    const store = server.settings(await server.createDatabase());
    const installation = await install(t, { domains, store, more: 'snapshot: { refreshIntervalMs: 200 }' });
    const serving = await serve(t, installation);
    const player = await installation.pki.identity('media.player');
    const asked = Array.from({ length: 10 }, () => serving.as(player));
    const answers = async () => [
      ...new Set(await Promise.all(asked.map(async (ask) => (await ask('/access/read?resource=catalog:movie')).text))),
    ];
    t.deepEqual(await answers(), ['{"granted":true}']);
    process.kill(serving.pid, 'SIGSTOP');
    const other = await openStore(loadConfig(installation.config).store);
    await other.change({ actor: 'test' }, (change) => saveDomain(change, domainContent(catalog([]))));
    await other.close();
    // On the connections of before: they lie there when the process goes on.
    const late = answers();
    await pause(standstillMs);
    process.kill(serving.pid, 'SIGCONT');
    t.deepEqual(await late, ['{"granted":false}']);
  });
}
