import { type SignetClient, SignetClientError, type SignetClientErrorCode } from '@signet/client';
import { isLoopback } from '../../config/store-place.ts';
import { endsSoon, type Finding, spanOf } from './finding.ts';
import type { TlsProbe } from './probe-tls.ts';

const advices: Partial<Record<SignetClientErrorCode, string>> = {
  unreachable: 'check that the server runs (`/healthz`), the address in --url, DNS, the firewall and the proxy',
  'timed-out': 'packets are dropped or the server is overloaded: check the firewall and the proxy',
  tls: 'check that --ca holds the authority of the server and that --url has the name in its certificate',
  'invalid-identity': 'use a valid certificate and a key that this user may read',
  'server-error': 'the server has an internal error: see its log',
  redirected: '--url is not the base URL of the API: it ends in a version such as /v1',
  'response-malformed': '--url is not the base URL of the API: it ends in a version such as /v1',
};

const refusedAdvice: Partial<Record<number, string>> = {
  401: 'the server does not accept this certificate: it was revoked, its service is disabled, or its authority is unknown there',
  403: 'a role certificate is not accepted: use the certificate of the service',
  404: '--url is not the base URL of the API: it ends in a version such as /v1',
};

/** Findings about the server at this address: its answers to this client, its keys, and the principal in its tokens. */
export async function checkServer(
  client: Pick<SignetClient, 'keys' | 'metadata'>,
  baseUrl: string,
): Promise<readonly Finding[]> {
  try {
    const { keys } = await client.keys();
    const { issuer } = await client.metadata();
    const reachable: Finding = {
      check: 'reachability',
      state: 'ok',
      found: 'the server answers and knows this client',
    };
    return [reachable, checkKeys(keys.map(({ purpose }) => purpose)), ...checkIssuer(issuer, baseUrl)];
  } catch (error) {
    if (!(error instanceof SignetClientError)) throw error;
    const refused = error.code === 'refused' ? refusedAdvice[error.status ?? 0] : undefined;
    const advice = refused ?? advices[error.code];
    return [{ check: 'reachability', state: 'failed', found: error.message, ...(advice !== undefined && { advice }) }];
  }
}

function checkKeys(purposes: readonly (string | undefined)[]): Finding {
  const check = 'keys';
  const missing = ['token', 'bundle'].filter((need) => !purposes.some((each) => each === undefined || each === need));
  if (missing.length === 0) return { check, state: 'ok', found: `${purposes.length} keys are published` };
  const advice = 'check `signet keys list` and the key files on the server';
  return { check, state: 'failed', found: `no key is published for: ${missing.join(', ')}`, advice };
}

/** A server that is called by a name, and whose tokens say that it is this machine, was never told its name. */
function checkIssuer(issuer: string, baseUrl: string): readonly Finding[] {
  const isLocal = (url: string) => isLoopback(URL.parse(url)?.hostname.replace(/^\[|\]$/g, '') ?? '');
  if (!isLocal(issuer) || isLocal(baseUrl)) return [];
  const advice = 'set `baseUrl` of the server to the address that clients use, and `issuer` if it is different';
  return [{ check: 'address', state: 'warning', found: `the issuer of its tokens is ${issuer}`, advice }];
}

/** Tokens and certificates are refused when clocks differ by more than this, in milliseconds. */
const toleratedSkewMs = 60_000;
const dangerousSkewMs = 300_000;

/** Findings about the connection itself: the server's certificate and its clock. */
export function checkTlsProbe(probe: TlsProbe, now: number): readonly Finding[] {
  const { notBefore, notAfter, date } = probe;
  const left = `the server's certificate is valid for ${spanOf(notAfter - now)}`;
  const soon = endsSoon(notBefore, notAfter, now);
  const findings: Finding[] = [
    {
      check: 'server certificate',
      state: soon ? 'warning' : 'ok',
      found: left,
      ...(soon && { advice: 'renew it on the server; the server reloads it without a restart' }),
    },
  ];
  if (date !== undefined) findings.push(checkClock(date - now));
  return findings;
}

function checkClock(skew: number): Finding {
  const check = 'clock';
  const size = Math.abs(skew);
  if (size <= toleratedSkewMs) return { check, state: 'ok', found: 'the clocks agree' };
  const found = `the clock of this host is ${spanOf(skew)} ${skew > 0 ? 'behind' : 'ahead of'} the server's`;
  const state = size > dangerousSkewMs ? 'failed' : 'warning';
  return { check, state, found, advice: 'set the clock with NTP (`timedatectl status`), here and on the server' };
}
