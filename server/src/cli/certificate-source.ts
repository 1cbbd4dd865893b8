import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import type { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { NotFoundError } from '../errors.ts';
import { type ShownCertificate, shownCertificate } from '../management/certificates.ts';
import type { CertificateRecord, RevocationReason } from '../model/certificate-store.ts';
import type { Store } from '../model/store.ts';
import type { ConnectionOptions } from './connection.ts';
import { localActor } from './local-user.ts';
import { manage, manageAll } from './manage/management-client.ts';
import { configPathOf } from './run.ts';
import { asksServer } from './source.ts';

/** Certificates of a server or of the configured store, as commands show them. Serial numbers are parsed (`parseSerial`). */
interface CertificateSource {
  show(serial: string): Promise<ShownCertificate>;
  revoke(serial: string, reason: RevocationReason): Promise<ShownCertificate>;
  /** The valid ones, or all. */
  list(holder: PrincipalName, isAll: boolean): Promise<readonly ShownCertificate[]>;
}

/** The source that the options and the configuration name. */
export function certificateSource(options: ConnectionOptions, command: Command): CertificateSource {
  return asksServer(options) ? serverCertificates(options) : storeCertificates(command);
}

function serverCertificates(options: ConnectionOptions): CertificateSource {
  return {
    show: async (serial) => {
      return (await manage(options, { method: 'GET', path: ['certificates', serial] })) as ShownCertificate;
    },
    revoke: async (serial, reason) => {
      const path = ['certificates', serial, 'revocation'];
      return (await manage(options, { method: 'PUT', path, body: { reason } })) as ShownCertificate;
    },
    list: async (holder, isAll) => {
      const query = { holder, state: isAll ? 'all' : 'valid' };
      return (await manageAll(options, ['certificates'], query)) as ShownCertificate[];
    },
  };
}

function storeCertificates(command: Command): CertificateSource {
  return {
    show: (serial) => withStore(command, async ({ certificates }) => shown(await certificates.find(serial))),
    revoke: (serial, reason) => {
      const by = localActor();
      return withStore(command, async (store) => {
        await store.change({ actor: by, reason }, (transaction) =>
          transaction.revokeCertificate(serial, { reason, at: epochSeconds(systemClock), by }),
        );
        return shown(await store.certificates.find(serial));
      });
    },
    list: (holder, isAll) => withStore(command, (store) => listAll(store, holder, isAll)),
  };
}

const pageSize = 500;

async function listAll({ certificates }: Store, holder: PrincipalName, isAll: boolean): Promise<ShownCertificate[]> {
  const validAt = epochSeconds(systemClock);
  const query = { holder, issuedFrom: 0, limit: pageSize, ...(!isAll && { validAt }) };
  const found: ShownCertificate[] = [];
  let after: CertificateRecord | undefined;
  do {
    const page = await certificates.ofHolder({ ...query, ...(after !== undefined && { after }) });
    found.push(...page.map(shown));
    after = page.length < pageSize ? undefined : page.at(-1);
  } while (after !== undefined);
  return found;
}

function shown(record: CertificateRecord | undefined): ShownCertificate {
  if (record === undefined) throw new NotFoundError('no certificate has this serial number');
  return shownCertificate(record, systemClock);
}

/** Works on the store, also while a server runs. Loaded only here: a question to a server needs no database. */
export async function withStore<Result>(command: Command, use: (store: Store) => Promise<Result>): Promise<Result> {
  const { openStore } = await import('../store/open.ts');
  const config = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(config.store, { clock: systemClock });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
