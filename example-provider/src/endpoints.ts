import type { RequiredAccess } from '@signet/policy-engine/http';
import type { DomainName } from '@signet/policy-engine/names';
import type { Middleware } from 'koa';
import { type Catalogue, type Entity, entities } from './catalogue.ts';
import { readJsonObject } from './json-body.ts';

/** Middleware of each pattern; the access that each endpoint requires is its argument. */
interface Patterns {
  readonly local: (required: RequiredAccess) => Middleware;
  readonly centralToken: (required: RequiredAccess) => Middleware;
  readonly centralCertificate: (required: RequiredAccess) => Middleware;
}

export interface Endpoint {
  readonly method: string;
  /** The whole path, exactly as it must be sent: nothing is decoded, folded or trimmed. */
  readonly path: string;
  /** Middleware that lets the request pass or throws. */
  readonly requireAccess: Middleware;
  readonly handle: Middleware;
}

/** Every entity under every pattern: reading needs `read`, writing needs `write`. */
export function protectedEndpoints(domain: DomainName, patterns: Patterns, catalogue: Catalogue): Endpoint[] {
  const prefixes: readonly [string, (required: RequiredAccess) => Middleware][] = [
    ['', patterns.local],
    ['/local', patterns.local],
    ['/central-token', patterns.centralToken],
    ['/central-cert', patterns.centralCertificate],
  ];
  return prefixes.flatMap(([prefix, require]) =>
    entities.flatMap((entity) => {
      const path = `${prefix}/${entity}`;
      const resource = `${domain}:${entity}`;
      return [
        { method: 'GET', path, requireAccess: require({ action: 'read', resource }), handle: read(catalogue, entity) },
        {
          method: 'PUT',
          path,
          requireAccess: require({ action: 'write', resource }),
          handle: write(catalogue, entity),
        },
      ];
    }),
  );
}

function read(catalogue: Catalogue, entity: Entity): Middleware {
  return (ctx) => {
    ctx.body = catalogue.get(entity);
  };
}

function write(catalogue: Catalogue, entity: Entity): Middleware {
  return async (ctx) => {
    catalogue.put(entity, await readJsonObject(ctx.req));
    ctx.body = catalogue.get(entity);
  };
}
