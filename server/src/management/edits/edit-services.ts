import { type DomainName, type KeyId, type ServiceName, servicePrincipal } from '@signet/policy-engine/names';
import { z } from 'zod';
import { NotFoundError } from '../../errors.ts';
import type { DomainContent, ServiceKeyRecord, ServiceRecord } from '../../model/records.ts';
import type { DomainScope } from '../../model/store.ts';
import type { DomainEdit } from '../change-domain.ts';
import { serviceSchema } from '../documents/document-schema.ts';
import { parseBody } from '../documents/json-source.ts';
import { readService } from '../documents/parse-document.ts';
import { strict } from '../documents/strict.ts';
import { serviceShape } from '../export-domain.ts';
import { attributes } from '../member-scope.ts';
import { parsePublicKey } from '../public-key.ts';

export const services: DomainScope = { ...attributes, services: true };

/** A service of a domain, by its name. */
export interface ServicePath {
  readonly domain: DomainName;
  readonly name: ServiceName;
}

function find(content: DomainContent, { name }: ServicePath): ServiceRecord | undefined {
  return content.services.find((service) => service.name === name);
}

function existing(content: DomainContent, path: ServicePath): ServiceRecord {
  const found = find(content, path);
  if (found === undefined) throw new NotFoundError(`service \`${path.domain}.${path.name}\` does not exist`);
  return found;
}

/** The service as the API shows it; undefined when there is none. */
export function serviceView(content: DomainContent, path: ServicePath): Record<string, unknown> | undefined {
  const found = find(content, path);
  return found === undefined ? undefined : { name: path.name, ...serviceShape(found) };
}

function withService(content: DomainContent, service: ServiceRecord): DomainContent {
  const all = [...content.services.filter(({ name }) => name !== service.name), service];
  return { ...content, services: all.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Body of `PUT` of a service. */
export const serviceFieldsSchema = serviceSchema.omit({ publicKeys: true });

/** `PUT` of a service: what the body leaves out is removed, but its keys stay. */
export function putService(path: ServicePath, body: unknown): DomainEdit {
  const service = parseBody(serviceFieldsSchema, body).read((reader, shape) => {
    return readService(reader, path.domain, { name: path.name, value: shape, path: [] }, parsePublicKey);
  });
  return serviceEdit(path, services, (content) =>
    withService(content, { ...service, publicKeys: find(content, path)?.publicKeys ?? [] }),
  );
}

export function deleteService(path: ServicePath): DomainEdit {
  // Where it is a member of its own domain.
  const scope = { ...services, names: [servicePrincipal(path.domain, path.name)] };
  return serviceEdit(path, scope, (content) => {
    existing(content, path);
    return { ...content, services: content.services.filter(({ name }) => name !== path.name) };
  });
}

function serviceEdit(path: ServicePath, scope: DomainEdit['scope'], apply: DomainEdit['apply']): DomainEdit {
  const view = (content: DomainContent) => serviceView(content, path);
  return { domain: path.domain, right: 'manage_services', object: `service.${path.name}`, scope, view, apply };
}

/** Body of `PUT` of a public key. */
export const keySchema = strict({ pem: z.string().max(16_384) });

/** `PUT` of a public key: its SPKI PEM. */
export function putKey(path: ServicePath, id: KeyId, body: unknown): DomainEdit {
  const key = parseBody(keySchema, body).read((reader, shape): ServiceKeyRecord | undefined => {
    const pem = reader.read(['pem'], () => parsePublicKey(shape.pem));
    return pem === undefined ? undefined : { id, pem };
  });
  return keyEdit(path, id, (keys) => [...keys.filter((other) => other.id !== id), key]);
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
  return {
    domain: path.domain,
    right: 'manage_keys',
    object: `service.${path.name}`,
    scope: services,
    view: (content) => find(content, path)?.publicKeys.find((key) => key.id === id),
    apply: (content) => {
      const service = existing(content, path);
      const publicKeys = [...change(service.publicKeys)].sort((a, b) => (a.id < b.id ? -1 : 1));
      return withService(content, { ...service, publicKeys });
    },
  };
}
