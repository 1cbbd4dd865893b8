import { type ClientOptions, createClient, type SignetClient, SignetClientError } from '@signet/client';
import type { ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';
import { makePki, type TestIdentity, type TestPki } from './pki.ts';
import { type Respond, startTlsServer, type TestServer } from './tls-server.ts';

/** A server and a client that trust each other. */
export interface ClientWorld {
  readonly folder: string;
  readonly pki: TestPki;
  readonly player: TestIdentity;
  readonly server: TestServer;
  readonly client: SignetClient;
  readonly clock: FakeClock;
  /** Another client of the same server. */
  connect(options?: Partial<ClientOptions>): SignetClient;
}

export async function clientWorld(
  t: ExecutionContext,
  respond: Respond,
  options: Partial<ClientOptions> = {},
): Promise<ClientWorld> {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const player = await pki.issue('media.player');
  const identity = await pki.issue('sys.auth.server', ['localhost']);
  const server = await startTlsServer(t, { identity, ca: pki.ca, respond });
  const clock = new FakeClock();
  const connect = (more: Partial<ClientOptions> = {}) => {
    const client = createClient({
      baseUrl: server.baseUrl,
      certificate: player.certFile,
      key: player.keyFile,
      caBundle: pki.caFile,
      clock,
      // a single attempt; the tests of retries set it
      retries: 0,
      ...options,
      ...more,
    });
    t.teardown(() => client.close());
    return client;
  };
  return { folder, pki, player, server, clock, client: connect(), connect };
}

/** The members of an error that callers see. */
export function seen(error: unknown): Record<string, unknown> {
  if (!(error instanceof SignetClientError)) throw error;
  const { code, message, status, serverCode, serverMessage, serverError, retryAfterSeconds } = error;
  const members = { code, message, status, serverCode, serverMessage, serverError, retryAfterSeconds };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Error of a promise that must fail with one of this package. */
export async function failure(promise: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await promise;
  } catch (error) {
    return seen(error);
  }
  throw new Error('it did not fail');
}
