import type { DomainName, KeyId, ServiceName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { ConflictError, NotFoundError } from '../../errors.ts';
import { type ListDiff, noDiff, unchanged } from '../../model/domain-change.ts';
import type { ServiceKeyRecord, ServiceRecord } from '../../model/records.ts';
import { diffLists } from '../../store/diff-domains.ts';
import { serviceSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readService } from '../documents/parse-document.ts';
import { strict } from '../documents/strict.ts';
import { serviceShape } from '../export-domain.ts';
import type { DomainEdit } from '../judge-edit.ts';
import { sameInAnyCase } from '../key-ids.ts';
import { parsePublicKey } from '../public-key.ts';

/** A service of a domain, by its name. */
export interface ServicePath {
  readonly domain: DomainName;
  readonly name: ServiceName;
}

/** A stored service, or none. */
type Stored = ServiceRecord | undefined;

function existing(service: Stored, path: ServicePath): ServiceRecord {
  if (service === undefined) throw new NotFoundError(`service \`${path.domain}.${path.name}\` does not exist`);
  return service;
}

/** The service as the API shows it. */
function viewOf(service: Stored): Record<string, unknown> | undefined {
  return service && { name: service.name, ...serviceShape(service) };
}

/** Body of `PUT` of a service. */
export const serviceFieldsSchema = serviceSchema.omit({ publicKeys: true });

/** `PUT` of a service: what the body leaves out is removed, but its keys stay. */
export function putService(path: ServicePath, body: unknown): DomainEdit {
  const service = parseBody(serviceFieldsSchema, body).read((reader, shape) => {
    return readService(reader, path.domain, { name: path.name, value: shape, path: [] }, parsePublicKey);
  });
  return serviceEdit(path, (stored) => put(stored, { ...service, publicKeys: stored?.publicKeys ?? [] }));
}

export function deleteService(path: ServicePath): DomainEdit {
  return serviceEdit(path, (stored) => ({ ...noDiff, removed: [existing(stored, path)] }));
}

function put(stored: Stored, service: ServiceRecord): ListDiff<ServiceRecord> {
  return diffLists(stored === undefined ? [] : [stored], [service], ({ name }) => name);
}

function serviceEdit(path: ServicePath, diff: (stored: Stored) => ListDiff<ServiceRecord>): DomainEdit {
  return editOf(path, 'manage_services', diff, viewOf);
}

function editOf(
  path: ServicePath,
  right: DomainEdit['right'],
  diff: (stored: Stored) => ListDiff<ServiceRecord>,
  view: (stored: Stored) => unknown,
): DomainEdit {
  return {
    domain: path.domain,
    right,
    object: `service.${path.name}`,
    read: async (reader, attributes) => {
      const [stored] = await reader.services(path.domain, path.name);
      return { view: view(stored), change: () => ({ ...unchanged(attributes), services: diff(stored) }) };
    },
  };
}

/** Body of `PUT` of a public key. */
export const keySchema = strict({ pem: z.string().max(16_384) });

/** `PUT` of a public key: its SPKI PEM. */
export function putKey(path: ServicePath, id: KeyId, body: unknown): DomainEdit {
  const key = parseBody(keySchema, body).read((reader, shape): ServiceKeyRecord | undefined => {
    const pem = reader.read(['pem'], () => parsePublicKey(shape.pem));
    return pem === undefined ? undefined : { id, pem };
  });
  return keyEdit(path, id, (keys) => {
    const others = keys.filter((other) => other.id !== id);
    // An existing one may be replaced.
    const same =
      others.length < keys.length
        ? undefined
        : sameInAnyCase(
            others.map((other) => other.id),
            id,
          );
    if (same !== undefined)
      throw new ConflictError(`key id \`${id}\` differs only in case from \`${same}\` of the service`);
    return [...others, key];
  });
}

export function deleteKey(path: ServicePath, id: KeyId): DomainEdit {
  return keyEdit(path, id, (keys) => {
    if (!keys.some((key) => key.id === id)) {
      throw new NotFoundError(`service \`${path.domain}.${path.name}\` has no key \`${id}\``);
    }
    return keys.filter((key) => key.id !== id);
  });
}

function keyEdit(
  path: ServicePath,
  id: KeyId,
  change: (keys: readonly ServiceKeyRecord[]) => readonly ServiceKeyRecord[],
): DomainEdit {
  const diff = (stored: Stored) => {
    const service = existing(stored, path);
    const publicKeys = [...change(service.publicKeys)].sort((a, b) => (a.id < b.id ? -1 : 1));
    return put(service, { ...service, publicKeys });
  };
  return editOf(path, 'manage_keys', diff, (stored) => stored?.publicKeys.find((key) => key.id === id));
}
