import { request } from 'node:https';
import { TLSSocket } from 'node:tls';
import { parseHttpDate } from '@signet/client';
import { secureClientOptions } from '@signet/policy-engine/http';
import type { ServerCheck } from '@signet/policy-engine/server-identity';

/** Facts from a server's handshake. Milliseconds since the epoch. */
export interface TlsProbe {
  readonly notBefore: number;
  readonly notAfter: number;
  /** Time of its clock, from the `Date` header. */
  readonly date?: number;
}

/** Requests `/healthz` without a client certificate. Undefined when there is no answer: another check reports why. */
export function probeTls(
  baseUrl: string,
  { caBundle, checkServerIdentity }: { readonly caBundle: string; readonly checkServerIdentity: ServerCheck },
  timeoutMs: number,
): Promise<TlsProbe | undefined> {
  const { promise, resolve } = Promise.withResolvers<TlsProbe | undefined>();
  const signal = AbortSignal.timeout(timeoutMs);
  const options = { ...secureClientOptions, ca: caBundle, checkServerIdentity, agent: false, signal };
  const asked = request(`${baseUrl}/healthz`, options, (answer) => {
    const certificate = answer.socket instanceof TLSSocket ? answer.socket.getPeerX509Certificate() : undefined;
    const date = parseHttpDate(answer.headers.date ?? '');
    answer.resume();
    if (certificate === undefined) resolve(undefined);
    else {
      const [notBefore, notAfter] = [certificate.validFromDate.getTime(), certificate.validToDate.getTime()];
      resolve({ notBefore, notAfter, ...(date !== undefined && { date }) });
    }
  });
  asked.on('error', () => resolve(undefined));
  asked.end();
  return promise;
}
