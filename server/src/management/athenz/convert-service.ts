import { fromYBase64 } from '../../base/ybase64.ts';
import { InvalidRequestError } from '../../errors.ts';
import type { ServiceShape } from '../documents/document-schema.ts';
import { parsePublicKey } from '../public-key.ts';
import type { AthenzService } from './export-shape.ts';
import type { Findings } from './findings.ts';
import { mappingOf } from './local-name.ts';

/** A service. What could only let it do less is left out with a notice: keys and endpoints of kinds that are not accepted. */
export function convertService(findings: Findings, name: string, service: AthenzService): ServiceShape {
  const { description, hosts, publicKeys } = service;
  const keys = (publicKeys ?? []).flatMap(({ id, key }) => {
    const pem = publicKeyOf(key);
    if (pem === undefined)
      findings.notice(
        'public keys are not P-256, P-384, P-521, RSA 2048 or more, or Ed25519: skipped',
        `${name}: ${id}`,
      );
    return pem === undefined ? [] : [[id, pem] as const];
  });
  const ids = new Set((publicKeys ?? []).map(({ id }) => id));
  if (ids.size < (publicKeys ?? []).length) findings.problem(['services', name, 'publicKeys'], 'has an id twice');
  const endpoint = endpointOf(findings, name, service);
  return {
    ...(description !== undefined && description !== null && description !== '' && { description }),
    ...(endpoint !== undefined && { endpoint }),
    ...(hosts !== undefined && hosts !== null && hosts.length > 0 && { hosts }),
    ...(keys.length > 0 && { publicKeys: mappingOf(findings, ['services', name, 'publicKeys'], keys) }),
  };
}

function publicKeyOf(key: string): string | undefined {
  try {
    return parsePublicKey(fromYBase64(key)?.toString() ?? '');
  } catch (error) {
    if (error instanceof InvalidRequestError) return undefined;
    throw error;
  }
}

function endpointOf(findings: Findings, name: string, { providerEndpoint }: AthenzService): string | undefined {
  if (providerEndpoint === undefined || providerEndpoint === null || providerEndpoint === '') return undefined;
  const url = URL.parse(providerEndpoint);
  if (url?.protocol === 'https:' && url.username === '') return providerEndpoint;
  findings.notice('endpoints of providers are not `https:` addresses without a user name: skipped', name);
  return undefined;
}
