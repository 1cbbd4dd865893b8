import { X509Certificate } from 'node:crypto';
import { canonicalPath, type NodeRequest, nodeRequests, type ProtectedRequest } from '@signet/policy-engine/http';
import { certificateThumbprint } from '@signet/policy-engine/token';
import { isPrincipalName } from './principal-name.ts';

/** What a rule sees of a request. */
export interface RuleInput {
  /** As sent, e.g. `GET`. */
  readonly method: string;
  /** Decoded once, without a trailing `/`; paths that two programs could read differently are refused before. */
  readonly path: string;
}

/** What a request asks for in the language of policy. */
export interface Asked {
  readonly action: string;
  /** `domain:entity`. */
  readonly resource: string;
}

/** The central access check: `client.access` is one. */
export interface AccessChecker {
  check(
    query: Asked & {
      readonly principal?: string;
      readonly thumbprint?: string;
      readonly principalToken?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<boolean>;
}

/** Which requests are asked about, and about whom. */
export interface RequireGrantOptions {
  readonly access: AccessChecker;
  /** Who is asked about: the bearer of the `Svc-Principal-Auth` token, or the service that the client's certificate names. */
  readonly by: 'principal-token' | 'certificate';
  /** From a request to what it asks for. `undefined`: no rule covers it, so it is refused as an unknown endpoint (404). */
  readonly rule: (request: RuleInput) => Asked | undefined;
  /** Told why a request was refused though its caller is only told 403. */
  readonly onRefusal?: (reason: string) => void;
}

/** The whole answer to a request that may not pass. */
export interface Refusal {
  readonly status: 400 | 403 | 404;
  readonly body: { readonly code: number; readonly message: string };
}

function refuse(status: Refusal['status'], message: string): Refusal {
  return { status, body: { code: status, message } };
}

/** Whom to ask about, or why there is nobody. */
type Who =
  | { readonly principal: string; readonly thumbprint: string }
  | { readonly principalToken: string }
  | { readonly missing: string };

function whoCalls(request: ProtectedRequest, by: RequireGrantOptions['by']): Who {
  if (by === 'certificate') {
    return certificateHolder(request) ?? { missing: 'a service certificate is required' };
  }
  const [principalToken, ...others] = request.header('svc-principal-auth');
  const isOne = principalToken !== undefined && principalToken !== '' && others.length === 0;
  return isOne ? { principalToken } : { missing: 'one principal token is required' };
}

/** Only a certificate that the TLS layer verified is here. A role certificate names no service. */
function certificateHolder({ peer }: ProtectedRequest): { principal: string; thumbprint: string } | undefined {
  if (peer.certificate === undefined) return undefined;
  const { certificate } = peer;
  const bytes = typeof certificate === 'string' || certificate instanceof Uint8Array ? certificate : certificate.raw;
  const names = new X509Certificate(bytes).subject.split('\n').filter((part) => part.startsWith('CN='));
  const [name = '', ...others] = names.map((part) => part.slice(3).toLowerCase());
  if (others.length > 0 || !isPrincipalName(name)) return undefined;
  return { principal: name, thumbprint: certificateThumbprint(bytes) };
}

/**
 * The centralized patterns of the interface document: decides one request by asking the token server. `undefined` lets it
 * pass; everything else is a refusal, also a server that gives no answer, since an unanswered question is not a yes.
 */
export function createGate(
  options: RequireGrantOptions,
): (request: NodeRequest, target?: string) => Promise<Refusal | undefined> {
  const read = nodeRequests();
  return async (request, target) => {
    const seen = read(request);
    const path = canonicalPath(target ?? seen.target);
    if (path === undefined) return refuse(400, 'path is not in canonical form');
    const asked = options.rule({ method: seen.method, path });
    if (asked === undefined) return refuse(404, 'unknown endpoint');
    const who = whoCalls(seen, options.by);
    if ('missing' in who) return refuse(403, who.missing);
    const reason = await reasonAgainst(options.access, { ...asked, ...who });
    if (reason === undefined) return undefined;
    options.onRefusal?.(reason);
    return refuse(403, 'access is not granted');
  };
}

async function reasonAgainst(access: AccessChecker, query: Parameters<AccessChecker['check']>[0]) {
  try {
    return (await access.check(query)) ? undefined : 'not granted';
  } catch (error) {
    return `no answer: ${error instanceof Error ? error.message : 'unknown failure'}`;
  }
}
