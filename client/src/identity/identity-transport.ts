import { readFile } from 'node:fs/promises';
import { SignetClientError, type SignetClientErrorCode } from '../client-errors.ts';
import { serverCheck } from '../http/server-check.ts';
import type { IdentityTexts } from './identity-files.ts';
import { type InstanceName, type ReceivedIdentity, refreshInstance, registerInstance } from './instance-requests.ts';

/** Transport of an agent to the server: HTTP, or a test double. */
export interface IdentityTransport {
  register(attestation: string, signal?: AbortSignal): Promise<ReceivedIdentity>;
  refresh(texts: IdentityTexts, attestation: string | undefined, signal?: AbortSignal): Promise<ReceivedIdentity>;
}

interface HttpTransportOptions {
  readonly baseUrls: readonly string[];
  /** A file. */
  readonly caBundle: string;
  readonly instance: InstanceName;
  readonly timeoutMs?: number | undefined;
  readonly serverIdentity?: string | undefined;
}

/** Failures at which another server may do better. A refusal is the same everywhere. */
const passing: ReadonlySet<SignetClientErrorCode> = new Set(['unreachable', 'timed-out', 'tls', 'server-error']);

/**
 * Transport over HTTP that asks one server after the other until one answers; fails as the first one did, which is the preferred one. Throws
 * `invalid-argument` for a `serverIdentity` that is not a name.
 */
export function httpTransport(options: HttpTransportOptions): IdentityTransport {
  const { baseUrls, instance, timeoutMs = 30_000 } = options;
  const isServer = serverCheck(options.serverIdentity);
  type Peer = Parameters<typeof registerInstance>[0];
  const ask = async (call: (peer: Peer) => Promise<ReceivedIdentity>): Promise<ReceivedIdentity> => {
    const caBundle = await readFile(options.caBundle, 'utf8');
    let failure: unknown;
    for (const baseUrl of baseUrls) {
      try {
        return await call({ baseUrl, caBundle, timeoutMs, isServer });
      } catch (error) {
        if (!(error instanceof SignetClientError) || !passing.has(error.code)) throw error;
        failure ??= error;
      }
    }
    throw failure ?? new SignetClientError('invalid-argument', 'baseUrl names no server');
  };
  return {
    register: (attestation, signal) => ask((peer) => registerInstance(peer, instance, attestation, signal)),
    refresh: (identity, attestation, signal) =>
      ask((peer) => refreshInstance({ ...peer, identity }, instance, attestation, signal)),
  };
}
