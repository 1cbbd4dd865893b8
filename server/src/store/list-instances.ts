import type { Kysely } from 'kysely';
import type { InstanceQuery, InstanceRecord } from '../model/instance-store.ts';
import { toInstance } from './certificate-rows.ts';
import type { Schema } from './database-schema.ts';

/** Page of the instances of a domain, in the order of service, provider and id. Its cost is proportional to its length. */
export async function readInstances(db: Kysely<Schema>, query: InstanceQuery): Promise<readonly InstanceRecord[]> {
  const { domain, service, after, limit } = query;
  let rows = db.selectFrom('instances').selectAll().where('domain', '=', domain);
  if (service !== undefined) rows = rows.where('service', '=', service);
  if (after !== undefined) {
    const [lastService, lastProvider, lastId] = after;
    rows = rows.where(({ eb, refTuple, tuple }) =>
      eb(refTuple('service', 'provider', 'instance_id'), '>', tuple(lastService, lastProvider, lastId)),
    );
  }
  const found = await rows.orderBy('service').orderBy('provider').orderBy('instance_id').limit(limit).execute();
  return found.map(toInstance);
}
