/** Refreshes or registers instances one after the other; the parent counts what the system is asked meanwhile. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { fleetOf, fleetSize } from './fleet.ts';
import { registrationsIn } from './registrations.ts';
import { benchRequest } from './request.ts';

const [folder = '.', kind = 'refresh', count = '0', prepared = '0'] = process.argv.slice(2);
const { intermediate } = await createAuthorities(systemClock);
const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
const store = await openSqliteStore(join(folder, `lone-${kind}-${count}.db`));
const deps = { issuers: { signing: () => issuer }, clock: systemClock, randomBytes, certificates: store.certificates };
const fleet = fleetOf(store, deps, benchRequest('media.player', 'i-1.instanceid.signet.bench'));
const registrations = await registrationsIn(store, issuer);
for (let turn = 0; turn < fleetSize; turn += 1) await fleet.register();
await registrations.prepare(Number(prepared));
const work = kind === 'refresh' ? fleet.refresh : registrations.register;
for (let turn = 0; turn < Number(count); turn += 1) await work();
await registrations.close();
await store.close();
