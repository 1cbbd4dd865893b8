import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { fleetOf } from '../certificates/fleet.ts';
import { benchRequest } from '../certificates/request.ts';
import type { PostgresServer } from '../measure/postgres.ts';
import { formatSpread, markdownTable, verdict } from '../measure/report.ts';
import { ratioOf, spreadOf } from '../measure/statistics.ts';

const width = 16;

/** A refresh of an instance from the reading of its request to the answer, without HTTP and TLS, in this process. */
export async function refreshBlock(database: PostgresServer, folder: string, quick: boolean): Promise<string> {
  const { intermediate } = await createAuthorities(systemClock);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const pem = benchRequest('media.player', 'i-1.instanceid.signet.bench');
  const stores = [
    await openStore({ kind: 'sqlite', file: join(folder, 'refresh.db') }),
    await openStore(database.createDatabase('signet_refresh')),
  ] as const;
  const fleets = stores.map((store: Store) =>
    fleetOf(
      store,
      { issuers: { signing: () => issuer }, clock: systemClock, randomBytes, certificates: store.certificates },
      pem,
    ),
  );
  const costs: number[][] = [[], []];
  const ofDatabase: number[] = [];
  const [rounds, count] = quick ? [5, 480] : [15, 1600];
  for (const { register } of fleets) await atOnce(register, 64);
  for (let round = 0; round <= rounds; round += 1) {
    for (const [index, { refresh }] of fleets.entries()) {
      const before = database.cpuNanoseconds();
      const start = process.cpuUsage();
      await atOnce(refresh, count);
      const { user, system } = process.cpuUsage(start);
      if (round === 0) continue; // the first round warms up
      costs[index]?.push((user + system) / count);
      if (index === 1) ofDatabase.push((database.cpuNanoseconds() - before) / 1000 / count);
    }
  }
  for (const store of stores) await store.close();
  const [file = [], server = []] = costs;
  const ratio = ratioOf(server, file);
  const row = [file, server, ofDatabase].map((values) => formatSpread(spreadOf(values)));
  return [
    '### A certificate refreshed, 16 at once',
    'Processor time of the server for one, from the reading of the request to the answer, without HTTP and TLS, and that of all processes of the database.',
    markdownTable(
      ['SQLite, µs', 'PostgreSQL, µs', 'the database itself, µs', 'PostgreSQL / SQLite', 'aim'],
      [[...row, formatSpread(ratio), verdict(ratio.median, 1.6, 'at most')]],
    ),
  ].join('\n\n');
}

async function atOnce(work: () => Promise<void>, count: number): Promise<void> {
  for (let done = 0; done < count; done += width) await Promise.all(Array.from({ length: width }, work));
}
