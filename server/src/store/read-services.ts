import { parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { valuesOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { DomainRecord, ServiceRecord } from '../model/records.ts';
import type { Schema } from './database-schema.ts';
import { byDomain, groupBy } from './row-values.ts';

interface ReadService {
  readonly service: ServiceRecord;
  /** 0 where no other service had the name before. */
  readonly credentialsFrom: number;
}

export function servicesOf(read: readonly ReadService[] = []): Pick<DomainRecord, 'services' | 'servicesFrom'> {
  const services = read.map(({ service }) => service);
  const again = read.filter(({ credentialsFrom }) => credentialsFrom > 0);
  if (again.length === 0) return { services };
  const from = again.map(({ service, credentialsFrom }) => [service.name, credentialsFrom] as const);
  return { services, servicesFrom: new Map(from) };
}

/** The services of these domains; or of one name alone. */
export async function readServices(
  db: Kysely<Schema>,
  domains: readonly string[],
  name?: string,
): Promise<ReadonlyMap<string, ReadService[]>> {
  const services = db.selectFrom('services').selectAll().where('domain', 'in', domains).orderBy('name');
  const keyRows = db.selectFrom('service_keys').selectAll().where('domain', 'in', domains).orderBy('key_id');
  const hostRows = db.selectFrom('service_hosts').selectAll().where('domain', 'in', domains).orderBy('position');
  const [rows, ofKeys, ofHosts] =
    name === undefined
      ? [await services.execute(), await keyRows.execute(), await hostRows.execute()]
      : [
          await services.where('name', '=', name).execute(),
          await keyRows.where('service', '=', name).execute(),
          await hostRows.where('service', '=', name).execute(),
        ];
  const keys = groupBy(ofKeys, (row) => `${row.domain}:${row.service}`);
  const hosts = groupBy(ofHosts, (row) => `${row.domain}:${row.service}`);
  return byDomain(rows, (row) => ({
    credentialsFrom: row.credentials_from,
    service: {
      name: parseServiceName(row.name),
      ...valuesOf(recordFields.service, row),
      hosts: (hosts.get(`${row.domain}:${row.name}`) ?? []).map((host) => host.host),
      publicKeys: (keys.get(`${row.domain}:${row.name}`) ?? []).map((key) => ({
        id: parseKeyId(key.key_id),
        pem: key.pem,
        ...(key.delegated === 1 && { delegated: true }),
      })),
    },
  }));
}
