import type { RouterMiddleware } from '@koa/router';
import {
  type DomainName,
  type KeyId,
  parseDomainName,
  parseKeyId,
  parseServiceName,
  type ServiceName,
  servicePrincipal,
} from '@signet/policy-engine/names';
import { ybase64 } from '../../base/ybase64.ts';
import { NotFoundError } from '../../errors.ts';
import { publicKeyPem } from '../../keys/public-key-pem.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import type { ProfileRules } from '../../profile.ts';
import { existingDomain } from '../../snapshot/existing-domain.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { answerJson, type RequestState, requirePrincipal } from '../context.ts';

interface ServicePublicKeyDeps {
  readonly snapshot: () => Snapshot;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly profile: Pick<ProfileRules, 'findKeyId' | 'ownKeyServices'>;
}

/**
 * `GET /domain/{domainName}/service/{serviceName}/publickey/{keyId}`: one registered key, its PEM encoded as principal tokens are; of the
 * services that stand for the server, also those that it publishes.
 */
export function servicePublicKeyRoute(deps: ServicePublicKeyDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const domain = parseDomainName(ctx.params['domainName'], 'domainName');
    const service = parseServiceName(ctx.params['serviceName'], 'serviceName');
    const asked = ctx.params['keyId'];
    const own = publishedKey(deps, servicePrincipal(domain, service), asked);
    const { id, pem } = own ?? registeredKey(deps, domain, service, parseKeyId(asked, 'keyId'));
    answerJson(ctx, JSON.stringify({ key: ybase64(pem), id }));
  };
}

interface NamedKey {
  readonly id: string;
  readonly pem: string;
}

function publishedKey({ keys, profile }: ServicePublicKeyDeps, service: string, asked: unknown): NamedKey | undefined {
  if (!profile.ownKeyServices.includes(service)) return undefined;
  const key = keys.current().published.find(({ kid }) => kid === asked);
  return key && { id: key.kid, pem: publicKeyPem(key) };
}

function registeredKey(
  { snapshot, profile }: ServicePublicKeyDeps,
  domain: DomainName,
  service: ServiceName,
  asked: KeyId,
): NamedKey {
  const keys = existingDomain(snapshot(), domain).services.get(service)?.publicKeys ?? new Map<KeyId, string>();
  const id = profile.findKeyId(keys, asked);
  const pem = keys.get(id);
  if (pem === undefined) throw new NotFoundError('there is no such service or key');
  return { id, pem };
}
