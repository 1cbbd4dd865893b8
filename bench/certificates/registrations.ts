import { randomBytes } from 'node:crypto';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import {
  parseDomainName,
  parsePathElement,
  parsePolicyName,
  parsePrincipalName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { randomOctets } from '@signet/server/base/random-octets';
import { exactKeyId } from '@signet/server/base/registered-key';
import { createJoinToken, joinTokenProvider } from '@signet/server/instances/attestation/join-token';
import type { InstanceDeps } from '@signet/server/instances/instance-deps';
import { parseRegisterInformation } from '@signet/server/instances/instance-request';
import { registerInstance } from '@signet/server/instances/register-instance';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainContent } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { diffDomains } from '@signet/server/store/diff-domains';
import type { Issuer } from '@signet/server/x509/issuer';
import { signetForms } from '@signet/server/x509/name-forms';
import { benchRequest } from './request.ts';

const provider = parsePrincipalName('sys.auth.server');
const tenant = { domain: parseDomainName('media'), service: parseServiceName('player') };
const rules = { trustDomain: 'signet.bench', dnsSuffix: 'signet.bench', forms: signetForms };
const daySeconds = 86_400;

/** A domain with this service, of which the provider of join tokens may launch what the resource says. */
function domainOf(domain: string, service: string, resource: string): DomainContent {
  const name = parseDomainName(domain);
  const assertion = {
    effect: 'ALLOW',
    role: `${name}:role.launchers`,
    action: 'launch',
    caseSensitive: false,
  } as const;
  return {
    ...emptyDomain(name),
    roles: [{ name: parseRoleName('launchers'), members: [{ name: provider, disabled: false }] }],
    policies: [
      {
        name: parsePolicyName('launch'),
        version: '0',
        active: true,
        caseSensitive: false,
        assertions: [{ ...assertion, resource: `${name}:${resource}` }],
      },
    ],
    services: [{ name: parseServiceName(service), enabled: true, hosts: [], publicKeys: [] }],
  };
}

export interface Registrations {
  /** Makes join tokens and requests of `count` new instances, which register one after the other. */
  readonly prepare: (count: number) => Promise<void>;
  readonly register: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/**
 * Registers new instances with join tokens as `POST /instance` does once it has read the body: rights, names, the token spent, the certificate
 * signed, all of it asked again, and recorded.
 */
export async function registrationsIn(store: Store, issuer: Issuer): Promise<Registrations> {
  await store.change({ actor: provider }, async (transaction) => {
    await transaction.save(diffDomains(undefined, domainOf('sys.auth', 'server', 'instance')));
    await transaction.save(
      diffDomains(undefined, domainOf(tenant.domain, tenant.service, `service.${tenant.service}`)),
    );
  });
  const live = await openLiveSnapshot({ store, clock: systemClock, refreshIntervalMs: 60_000 });
  const tokens = { instances: store.instances, clock: systemClock, randomBytes, joinTokenSeconds: daySeconds };
  const attesting = joinTokenProvider({ ...tokens, trimsJoinTokens: false });
  const deps: InstanceDeps = {
    snapshot: () => live.current(),
    snapshotAt: live.at,
    clock: systemClock,
    randomBytes: randomOctets(),
    rules,
    findKeyId: exactKeyId,
    hosts: { rules, isServerHost: () => false },
    reservedAddresses: { faultOf: () => undefined },
    issuers: {
      signing: () => issuer,
      current: () => ({ active: [issuer], draining: [], rootsPem: issuer.chainPem, rootLists: [] }),
    },
    certificates: store.certificates,
    instances: store.instances,
    store,
    findProvider: () => attesting,
    limits: {
      serviceDefaultSeconds: daySeconds,
      serviceMaxSeconds: daySeconds,
      roleDefaultSeconds: daySeconds,
      roleMaxSeconds: daySeconds,
    },
    noteForeignRefresh: () => Promise.resolve(),
    onRevoked: () => Promise.resolve(),
  };
  const waiting: object[] = [];
  const prepareOne = async (): Promise<void> => {
    const instanceId = parsePathElement(`i-${epochSeconds(systemClock)}-${randomBytes(6).toString('hex')}`);
    const key = { provider, ...tenant, instanceId };
    const attestationData = await createJoinToken(tokens, provider, key, { decide: async () => undefined });
    const csr = benchRequest('media.player', `${instanceId}.instanceid.signet.bench`);
    waiting.push({ provider, ...tenant, attestationData, csr });
  };
  return {
    prepare: async (count) => {
      await Promise.all(Array.from({ length: count }, prepareOne));
    },
    register: async () => {
      const body = waiting.pop();
      if (body === undefined) throw new Error('no instance is left that could register');
      return await registerInstance(deps, { address: '127.0.0.1' }, parseRegisterInformation(body, 1));
    },
    close: () => live.close(),
  };
}
