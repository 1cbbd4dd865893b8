import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type IdentityAgent,
  type IdentityOutcome,
  type IdentityTransport,
  openIdentityAgent,
  readIdentityFiles,
  SignetClientError,
} from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openIdentity } from '@signet/server/compose/compose-identity';
import { loadConfig } from '@signet/server/config/config';
import { createRegisterToken } from '@signet/server/instances/create-register-token';
import type { InstanceIdentity } from '@signet/server/instances/instance-deps';
import { refreshInstance } from '@signet/server/instances/refresh-instance';
import { registerInstance } from '@signet/server/instances/register-instance';
import { createLogger } from '@signet/server/logger';
import type { InstanceKey } from '@signet/server/model/instance-store';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { readCertificate } from '@signet/server/x509/certificate-reader';
import test, { type ExecutionContext } from 'ava';
import { makeAuthority } from '#support/authority';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { instanceDomains, instanceNames, keyPem } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { saveDomain } from '#support/save-domain';

const hour = 3_600_000;
const instances = 400;
const outage = { from: 11 * hour, to: 13 * hour } as const;

interface Simulated {
  readonly agent: IdentityAgent;
  readonly folder: string;
  nextAt: number;
}

/** The use cases of a server over a real store, on a clock of our own; no sockets, whose certificates the machine's clock would judge. */
async function simulatedServer(t: ExecutionContext, folder: string, clock: FakeClock) {
  const authority = await makeAuthority(folder);
  writeFileSync(
    join(folder, 'signet.yaml'),
    `tls: { certificate: test.ca.pem, key: test.key.pem, clientCa: test.root.pem }
certificates: { issuers: [{ certificate: test.ca.pem, key: test.key.pem }], trustDomain: signet.test }
instances: { joinTokens: { lifetimeSeconds: 60 } }
`,
  );
  t.truthy(authority.keyPem);
  const config = loadConfig(join(folder, 'signet.yaml'));
  const store = await openSqliteStore(join(folder, 'signet.db'), { clock });
  await store.change({ actor: 'test' }, async (transaction) => {
    for (const domain of instanceDomains) await saveDomain(transaction, domainContent(domain));
  });
  const live = await openLiveSnapshot({ store, clock, refreshIntervalMs: hour });
  const logger = createLogger('silent', { write: () => undefined });
  const decideAgain = { snapshot: () => live.current(), snapshotAt: live.at };
  const identity = await openIdentity({ config, store, clock, logger, ...decideAgain });
  t.teardown(async () => {
    await identity.close();
    await live.close();
    await store.close();
  });
  if (identity.routes === undefined) throw new Error('no issuer');
  return { store, identity, ...identity.routes };
}

type Server = Awaited<ReturnType<typeof simulatedServer>>;

function received(identity: InstanceIdentity, key: string) {
  const certificate = identity.x509Certificate ?? '';
  const leaf = new X509Certificate(certificate);
  const serial = leaf.serialNumber.toLowerCase();
  return {
    certificate,
    key,
    issuers: identity.x509CertificateSigner ?? '',
    notAfter: leaf.validToDate.getTime(),
    serial,
  };
}

function transport(server: Server, key: InstanceKey, life: number, isUp: () => boolean): IdentityTransport {
  const information = (csr: string, attestationData: string) => ({
    ...key,
    csr,
    attestationData,
    ssh: undefined,
    requestedSeconds: life,
    hostname: undefined,
    cloud: undefined,
  });
  const mustBeUp = () => {
    if (!isUp()) throw new SignetClientError('unreachable', 'the server is away');
  };
  return {
    register: async (attestation) => {
      mustBeUp();
      const pair = ecPair();
      const csr = requestPem(pair, { commonNames: ['media.player'], altNames: instanceNames(key.instanceId) });
      return received(
        await registerInstance(server.instances, { address: '127.0.0.1' }, information(csr, attestation)),
        keyPem(pair),
      );
    },
    refresh: async (texts) => {
      mustBeUp();
      const pair = ecPair();
      const csr = requestPem(pair, { commonNames: ['media.player'], altNames: instanceNames(key.instanceId) });
      const der = new X509Certificate(texts.certificate).raw;
      const { serial, notAfter } = readCertificate(der);
      if (notAfter * 1000 < server.instances.clock.now() || server.identity.isRevoked(serial)) {
        throw new SignetClientError('refused', 'the certificate does not count', { answer: { status: 401 } });
      }
      const caller = {
        principal: parsePrincipalName('media.player'),
        certificate: { serial, der, issuedAt: server.instances.clock.now(), notAfter: notAfter * 1000 },
        address: '127.0.0.1',
        requestId: 'day',
      };
      return received(await refreshInstance(server.instances, caller, key, information(csr, '')), keyPem(pair));
    },
  };
}

test('a day of 400 instances, with the server away for two hours: every one is valid afterwards, none needed a hand', async (t) => {
  t.timeout(600_000);
  const folder = mkdtempSync(join(tmpdir(), 'signet-day-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const clock = new FakeClock(systemClock.now());
  const start = clock.now();
  const server = await simulatedServer(t, folder, clock);
  const isUp = () => clock.now() - start < outage.from || clock.now() - start >= outage.to;
  const world: Simulated[] = Array.from({ length: instances }, (_, index) => {
    const key = {
      provider: parsePrincipalName('sys.auth.server'),
      domain: parseDomainName('media'),
      service: parseServiceName('player'),
      instanceId: parsePathElement(`i-${index}`),
    };
    // Every tenth has certificates that end while the server is away.
    const life = index % 10 === 0 ? 5400 : 8 * 3600;
    const own = join(folder, `i-${index}`);
    const agent = openIdentityAgent(
      {
        baseUrl: 'https://unused.example',
        caBundle: 'unused',
        folder: own,
        instance: {
          provider: key.provider,
          domain: key.domain,
          service: key.service,
          instanceId: key.instanceId,
          trustDomain: 'signet.test',
        },
        attestation: async (operation) =>
          operation === 'register'
            ? (await createRegisterToken(server.registerTokens, { principal: parsePrincipalName('media.admin') }, key))
                .attestationData
            : undefined,
        clock,
      },
      transport(server, key, life, isUp),
    );
    return { agent, folder: own, nextAt: start + (index * 600_000) / instances };
  });
  const counts = new Map<IdentityOutcome['kind'], number>();
  for (;;) {
    const next = world.reduce((earliest, one) => (one.nextAt < earliest.nextAt ? one : earliest));
    if (next.nextAt >= start + 24 * hour) break;
    clock.set(Math.max(clock.now(), next.nextAt));
    const outcome = await next.agent.step();
    counts.set(outcome.kind, (counts.get(outcome.kind) ?? 0) + 1);
    next.nextAt = Math.max(outcome.nextAt, clock.now() + 100);
  }
  clock.set(start + 24 * hour);
  let valid = 0;
  for (const { folder: own } of world) {
    const leaf = new X509Certificate((await readIdentityFiles(own))?.certificate ?? '');
    const row = await server.store.certificates.find(leaf.serialNumber.toLowerCase());
    if (leaf.validToDate.getTime() > clock.now() && row?.state === 'issued' && row.revoked === undefined) valid += 1;
  }
  t.is(valid, instances);
  t.is(server.identity.isRevoked('00'), false);
  const registered = counts.get('registered') ?? 0;
  t.is(registered, instances + instances / 10, 'those whose certificate ended registered again, the others never');
  t.log(Object.fromEntries(counts));
});
