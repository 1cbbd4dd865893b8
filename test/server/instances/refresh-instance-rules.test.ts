import { X509Certificate } from 'node:crypto';
import { parseServiceName } from '@signet/policy-engine/names';
import { DomainError } from '@signet/server/errors';
import type { Attested } from '@signet/server/instances/attestation/attestation';
import { refreshInstance } from '@signet/server/instances/refresh-instance';
import type { InstanceStatus } from '@signet/server/model/instance-store';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';
import { type DomainSketch, domainContent, stored } from '#support/domains';
import { callerOf, type DepsSketch, instanceDeps, instanceKey, nowSeconds, ownPair } from '#support/instance-deps';
import { requestPem } from '#support/requests';

/* Each rule of a refresh, with stores that only note what they are asked. */

const launches = ['allow launch instance provider', 'allow launch hostname.hosts.example.com provider'];
const system: DomainSketch = { roles: { provider: ['sys.cloud'] }, rules: launches };
const media: DomainSketch = {
  roles: { provider: ['sys.cloud'] },
  rules: ['allow launch service.player provider'],
  services: ['player', 'other'],
};

function snapshotOf(domain: DomainSketch = media, auth: DomainSketch = system, from?: number): Snapshot {
  const content = stored(domainContent('media', domain));
  return compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: [
      { ...content, ...(from !== undefined && { servicesFrom: new Map([[parseServiceName('player'), from]]) }) },
      stored(domainContent('sys.auth', auth)),
      stored(domainContent('sys', { services: ['cloud'] })),
    ],
    deleted: [],
    signingKeys: [],
  }).snapshot;
}

const status: InstanceStatus = { lineage: 'current', clientOnly: false, sshAllowed: true };

interface Ask extends Partial<DepsSketch> {
  readonly as?: string;
  readonly csr?: string | undefined;
  readonly ssh?: string;
  readonly hostname?: string;
}

const csr = requestPem(ownPair, { commonNames: ['media.player'] });

/** Events, and at the end the refusal or the certificates. */
async function outcome(ask: Ask): Promise<string[]> {
  const { as = 'media.player', ssh, hostname, ...sketch } = ask;
  const { deps, done } = instanceDeps({ snapshot: snapshotOf(), status, ...sketch });
  const information = {
    attestationData: '',
    csr: 'csr' in ask ? ask.csr : csr,
    ssh,
    hostname,
    cloud: undefined,
    requestedSeconds: undefined,
  };
  try {
    const given = await refreshInstance(deps, callerOf(as), instanceKey, information);
    const kinds = [given.x509Certificate !== undefined && 'X.509', given.sshCertificate !== undefined && 'SSH'];
    return [...done, `given ${kinds.filter((kind) => kind !== false).join(' and ')}`];
  } catch (error) {
    if (error instanceof DomainError) return [...done, error.message];
    throw error;
  }
}

const [asked, intended, rotated] = ['asked to refresh', 'intended instance undefined', 'rotated, SSH true'];
const attested = (more: Partial<Attested>) => ({ attested: more });
const isRevoked = 'the instance is revoked, it must register again';
const notRegistered = 'the instance is not registered';
const host = 'host certificate for i-1.player.media.sys-cloud.instanceid.signet.test';
const cases: readonly (readonly [note: string, ask: Ask, outcome: readonly string[]])[] = [
  ['a current certificate', {}, [asked, intended, rotated, 'given X.509']],
  [
    'the previous certificate',
    { status: { ...status, lineage: 'previous' } },
    [asked, intended, rotated, 'given X.509'],
  ],
  // Who may ask.
  [
    'another service',
    { as: 'media.other' },
    ['alarm', 'principal `media.other` may not refresh an instance of `media.player`'],
  ],
  [
    'the certificate of another instance',
    { status: undefined },
    ['alarm', 'the certificate is not one of this instance'],
  ],
  [
    'a serial number that came before',
    { status: { ...status, lineage: 'foreign' } },
    ['instance revoked', 'told', isRevoked],
  ],
  ['an instance that is revoked', { status: { ...status, lineage: 'revoked' } }, [isRevoked]],
  ['an instance without a record', { status: { ...status, lineage: 'missing' } }, [asked, notRegistered]],
  [
    'an instance without a record, whose provider wants none',
    { status: { ...status, lineage: 'missing' }, ...attested({ recorded: false }) },
    [asked, intended, 'confirmed', 'given X.509'],
  ],
  ['no record from now on', attested({ recorded: false }), [asked, intended, 'confirmed', 'given X.509']],
  // What moved while the provider was asked.
  [
    'a serial number that came before by then',
    { rotation: 'foreign' },
    [asked, intended, rotated, 'instance revoked', 'told', isRevoked],
  ],
  ['an instance that was removed by then', { rotation: 'missing' }, [asked, intended, rotated, notRegistered]],
  [
    'a service that was created again by then',
    { later: snapshotOf(media, system, nowSeconds * 1000 + 1) },
    [asked, intended, 'service `media.player` was created again meanwhile, ask again'],
  ],
  [
    'a service that was disabled by then',
    { later: snapshotOf({ ...media, services: ['other', { name: 'player', enabled: false }] }) },
    [asked, intended, 'service `player` is not registered in domain `media`'],
  ],
  [
    'a provider that may not launch by then',
    { later: snapshotOf({ ...media, rules: [] }) },
    [
      asked,
      intended,
      'provider `sys.cloud` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`',
    ],
  ],
  [
    'a provider without an endpoint by then',
    { later: snapshotOf(), providers: [true, false] },
    [asked, intended, 'provider `sys.cloud` has no endpoint to ask'],
  ],
  // What must be there at first.
  ['a provider without an endpoint', { providers: [false, true] }, ['provider `sys.cloud` has no endpoint to ask']],
  [
    'a service that is not there',
    { snapshot: snapshotOf({ ...media, services: ['other'] }) },
    ['service `player` is not registered in domain `media`'],
  ],
  [
    'a domain that is disabled',
    { snapshot: snapshotOf({ ...media, enabled: false }) },
    ['domain `media` does not exist'],
  ],
  [
    'a provider that may launch nothing',
    { snapshot: snapshotOf(media, { ...system, rules: [] }) },
    ['provider `sys.cloud` is not authorized to launch instances: it needs `launch` on `sys.auth:instance`'],
  ],
  [
    'a provider that may not launch this',
    { snapshot: snapshotOf({ ...media, rules: [] }) },
    [
      'provider `sys.cloud` is not authorized to launch `media.player` instances: it needs `launch` on `media:service.player`',
    ],
  ],
  [
    'a host name that it may vouch for',
    { hostname: 'h1.hosts.example.com' },
    [asked, intended, rotated, 'given X.509'],
  ],
  [
    'another host name',
    { hostname: 'h1.example.com' },
    ['hostname `h1.example.com` is not one that provider `sys.cloud` may vouch for'],
  ],
  // SSH.
  ['both certificates', { ssh: 'ssh' }, [asked, intended, host, rotated, 'given X.509 and SSH']],
  ['SSH alone', { csr: undefined, ssh: 'ssh' }, [asked, 'SSH true', 'host certificate for ', 'given SSH']],
  [
    'SSH with a stated host name',
    { csr: undefined, ssh: 'ssh', hostname: 'h1.hosts.example.com' },
    [asked, 'SSH true', 'host certificate for h1.hosts.example.com', 'given SSH'],
  ],
  [
    'SSH with names that the provider states',
    { csr: undefined, ssh: 'ssh', ...attested({ sshPrincipals: ['H2.hosts.example.com', 'h2.example.com'] }) },
    [asked, 'SSH true', 'host certificate for H2.hosts.example.com', 'given SSH'],
  ],
  [
    'SSH that the provider does not allow',
    { ssh: 'ssh', ...attested({ ssh: false }) },
    [asked, intended, 'rotated, SSH false', 'given X.509'],
  ],
  [
    'SSH alone that the provider does not allow any more',
    { csr: undefined, ssh: 'ssh', ...attested({ ssh: false }) },
    [asked, 'SSH false', 'given '],
  ],
  [
    'SSH alone that it allows again',
    { csr: undefined, ssh: 'ssh', status: { ...status, sshAllowed: false } },
    [asked, 'SSH true', 'host certificate for ', 'given SSH'],
  ],
  [
    'SSH alone with a certificate that left the lineage meanwhile',
    { csr: undefined, ssh: 'ssh', still: 'foreign' },
    [asked, 'SSH true', 'instance revoked', 'told', isRevoked],
  ],
  [
    'SSH alone of an instance that was revoked meanwhile',
    { csr: undefined, ssh: 'ssh', still: 'revoked' },
    [asked, 'SSH true', isRevoked],
  ],
  [
    'SSH alone of an instance that was deleted meanwhile',
    { csr: undefined, ssh: 'ssh', still: 'missing' },
    [asked, 'SSH true', 'the instance is not registered'],
  ],
  [
    'SSH alone without a record',
    {
      csr: undefined,
      ssh: 'ssh',
      status: { ...status, lineage: 'missing' },
      ...attested({ ssh: false, recorded: false }),
    },
    [asked, 'given '],
  ],
];
for (const [note, ask, expected] of cases) {
  test(`a refresh: ${note}`, async (t) => t.deepEqual(await outcome(ask), [...expected]));
}

const [clientAuth, serverAuth] = ['1.3.6.1.5.5.7.3.2', '1.3.6.1.5.5.7.3.1'];
for (const [clientOnly, usage, expected] of [
  [false, 'both', [serverAuth, clientAuth]],
  [false, 'client', [clientAuth]],
  [true, 'both', [clientAuth]],
  [true, 'client', [clientAuth]],
] as const) {
  test(`an instance that registered for ${clientOnly ? 'clients' : 'both'}, while its provider says ${usage}`, async (t) => {
    const { deps } = instanceDeps({
      snapshot: snapshotOf(),
      status: { ...status, clientOnly },
      attested: { usage },
    });
    const information = { attestationData: '', csr, ssh: undefined, hostname: undefined, cloud: undefined };
    const asked = { ...information, requestedSeconds: undefined };
    const { x509Certificate = '' } = await refreshInstance(deps, callerOf('media.player'), instanceKey, asked);
    t.deepEqual(new Set(new X509Certificate(x509Certificate).keyUsage), new Set(expected));
  });
}
