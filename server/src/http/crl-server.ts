import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '@signet/policy-engine/clock';
import { gracefulServer } from '@signet/policy-engine/http';
import { type Addresses, crlUrlOf, type ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { createApp } from './app.ts';
import type { ConnectionFailures } from './connection-failures.ts';
import { listen } from './listen.ts';
import type { RawAnswers } from './raw-answers.ts';
import type { IdentityRouteDeps } from './routes/identity/identity-deps.ts';
import { mountAuthorityRoutes } from './routes/identity/index.ts';
import { slowConnections } from './slow-connections.ts';
import { answerNoRequests, httpOptions } from './tls-server.ts';

interface CrlServerDeps {
  readonly config: ServerConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly snapshot: () => Snapshot;
  readonly identity: Pick<IdentityRouteDeps, 'crls' | 'crlMaxAgeSeconds' | 'clock' | 'instances'>;
  readonly failures: Pick<ConnectionFailures, 'count'>;
  readonly answers: RawAnswers;
  readonly idPrefix: string;
}

/** Server of revocation lists over plain HTTP. */
interface CrlServer {
  /** URL of the list of the first issuer. */
  readonly url: string;
  close(): Promise<void>;
}

/** Maximum of anonymous connections at once: no budget counts them. */
const strangersAtOnce = 512;
/** Maximum of pipelined requests of each: those that come in one piece are begun before any others, which they would hold up. */
const maxRequestsOfStranger = 4;

/**
 * Plain HTTP for those who read certificates and have none (RFC 5280 §4.2.1.13): the revocation lists and the certificates of the
 * authorities, which are signed, and nothing else. Not the list of SSH certificates, which is not.
 */
export async function startCrlServer(deps: CrlServerDeps, addresses: Addresses, port: number): Promise<CrlServer> {
  const { config, failures, answers } = deps;
  const { requestMs, keepAliveMs, drainMs } = config.timeouts;
  const server = createServer(httpOptions({ requestMs, keepAliveMs, headerBytes: config.limits.headerBytes }));
  server.maxConnections = strangersAtOnce;
  const onFailure = (stage: string, reason: string) => failures.count(`plain ${stage}: ${reason}`);
  answerNoRequests(server, { onFailure, onAnswered: answers.add });
  server.on('drop', () => failures.count('plain accept: too many connections'));
  const graceful = gracefulServer(server);
  slowConnections(deps).watch(server);
  const { host } = config.crl.listen;
  const { reusePort } = config.listen;
  const listening = await listen(server, { host, port, reusePort, option: 'crl.listen.port' });
  server.on('error', (error) => failures.count(`plain accept: ${'code' in error ? String(error.code) : 'unknown'}`));
  server.on('request', appFor(deps, addresses).callback());
  return {
    url: crlUrlOf(config, listening, addresses),
    close: () => graceful.close({ delayMs: config.shutdown.delaySeconds * 1000, deadlineMs: drainMs }),
  };
}

function appFor(
  { config, clock, logger, snapshot, identity, idPrefix, answers }: CrlServerDeps,
  { basePath }: Addresses,
) {
  return createApp({
    profile: config.profile,
    snapshot,
    clock,
    logger,
    logRequests: config.log.requests,
    limits: {
      ...config.limits,
      connectionRequests: Math.min(config.limits.connectionRequests, maxRequestsOfStranger),
    },
    tokenPath: `${basePath}/oauth2/token`,
    // Callers do not authenticate here.
    isOpen: () => true,
    isPublishable: () => false,
    isProbe: () => false,
    isOptional: () => true,
    isRevoked: () => false,
    trust: { generation: 0, handshakeOf: () => -1, trusts: () => false, isWithdrawn: () => false },
    takesLargeBody: () => false,
    // The names that lead here are known only to the operators who wrote them into certificates, and the answer is signed.
    isOwnHost: () => true,
    principalTokenUse: () => 'confirms',
    busyRoutes: () => undefined,
    routes: (router) => mountAuthorityRoutes(router, basePath, identity, (_ctx, next) => next()),
    addressOf: ({ remoteAddress }: Socket) => remoteAddress ?? '',
    budget: undefined,
    onRefused: () => undefined,
    isAnswered: answers.has,
    // No tokens are issued here.
    observer: answers.observer && { answered: answers.observer.answered, tokenRefused: () => undefined },
    idPrefix,
  });
}
