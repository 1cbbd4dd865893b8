import type { Server } from 'node:https';
import type { EngineHealth, PolicyEngine } from '@signet/policy-engine';
import type { Clock } from '@signet/policy-engine/clock';
import type { Logger } from 'pino';
import { createApp } from './app.ts';
import { attestationEndpoints } from './attest-instances.ts';
import { Catalogue } from './catalogue.ts';
import { createCertificateReader } from './client-certificate.ts';
import { protectedEndpoints } from './endpoints.ts';
import type { ProviderConfig } from './provider-config.ts';
import type { AskServer } from './require-access/ask-server.ts';
import { centralCertificate } from './require-access/central-certificate.ts';
import { centralToken } from './require-access/central-token.ts';
import { localEngine } from './require-access/local-engine.ts';
import { connectionTrust, createTlsServer, followFiles, readTlsFiles } from './tls-server.ts';

interface ProviderDeps {
  readonly config: Pick<ProviderConfig, 'domain' | 'tls' | 'attestation'>;
  /** Decides the decentralized pattern. */
  readonly engine: Pick<PolicyEngine, 'decide' | 'health'>;
  /** Query to the token server, for the centralized patterns. */
  readonly ask: AskServer;
  readonly clock: Clock;
  readonly logger: Logger;
  /** True once the service was told to stop. Default: never. */
  readonly isStopping?: () => boolean;
}

/** The whole service, not listening yet: its endpoints, each behind its pattern, over mutual TLS. */
export function createProvider(deps: ProviderDeps): Server {
  const { config, engine, ask, clock, logger, isStopping = () => false } = deps;
  const files = readTlsFiles(config.tls);
  const trust = connectionTrust(files);
  const { isTrusted } = trust;
  const certificateOf = createCertificateReader(clock, isTrusted);
  const patterns = {
    local: localEngine({ engine, certificateOf }),
    centralToken: centralToken({ ask }),
    centralCertificate: centralCertificate({ ask, certificateOf }),
  };
  const { attestation } = config;
  const endpoints = [
    ...protectedEndpoints(config.domain, patterns, new Catalogue()),
    ...(attestation === undefined ? [] : attestationEndpoints(attestation, certificateOf, logger)),
  ];
  const app = createApp({ endpoints, health: () => healthOf(engine, config.domain), isStopping, isTrusted, logger });
  const server = createTlsServer(files, app);
  trust.watch(server);
  followFiles(server, files, (error) => logger.error({ error: String(error) }, 'TLS files cannot be used'));
  return server;
}

/** Ready while there is policy to decide by. A newer bundle that is refused leaves the last good one in force, so it is no reason to stop serving. */
function healthOf(engine: Pick<PolicyEngine, 'health'>, domain: string): { isReady: boolean; policy: EngineHealth } {
  const policy = engine.health();
  const state = policy.domains.find((each) => each.domain === domain)?.state;
  return { isReady: state === 'fresh' || state === 'stale', policy };
}
