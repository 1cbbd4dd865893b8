import {
  type AnswerHeaders,
  type ConnectionOptions,
  certificateProblem,
  type NodeRequest,
  nodeRequests,
  RequestRule,
  type RequiredAccess,
  type RuleOptions,
  type SeenRequest,
} from '@signet/policy-engine/http';
import { certificateThumbprint } from '@signet/policy-engine/token';
import { principalTokenHeaders } from '../access.ts';
import { isPrincipalName } from './principal-name.ts';

/** The central access check: `client.access` is one. */
export interface AccessChecker {
  check(
    query: RequiredAccess & {
      readonly principal?: string;
      readonly thumbprint?: string;
      readonly principalToken?: string;
      readonly signal?: AbortSignal;
    },
  ): Promise<boolean>;
}

/** Rules for the requests that are checked, and the principal that they are checked for. */
export interface RequireGrantOptions extends RuleOptions, ConnectionOptions {
  readonly access: AccessChecker;
  /**
   * Principal that is checked: the bearer of the token in `Svc-Principal-Auth` or `Athenz-Principal-Auth`, or the service that the client's
   * certificate names.
   */
  readonly by: 'principal-token' | 'certificate';
  /** Called with the reason of a refusal though its caller is only told 403. */
  readonly onRefusal?: (reason: string) => void;
}

/** The whole answer to a request that may not pass. */
interface Refusal {
  readonly status: 400 | 403 | 404;
  readonly body: { readonly code: number; readonly message: string };
}

/** Result of the gate for a request. The headers belong on every answer, which may have a `Cache-Control` of its own and adds to `Vary`. */
interface Verdict {
  readonly headers: AnswerHeaders;
  /** Refusal; absent if the request may pass. */
  readonly refusal?: Refusal | undefined;
}

function refuse(status: Refusal['status'], message: string): Refusal {
  return { status, body: { code: status, message } };
}

type Seen = ReturnType<ReturnType<typeof nodeRequests>>;

/** Principal to check, or why it is not known. */
type Who =
  | { readonly principal: string; readonly thumbprint: string }
  | { readonly principalToken: string }
  | { readonly missing: string };

function whoCalls(request: Seen, by: RequireGrantOptions['by']): Who {
  if (by === 'certificate') {
    return (
      certificateHolder(request) ?? { missing: certificateProblem(request.peer) ?? 'a service certificate is required' }
    );
  }
  const [principalToken, ...others] = principalTokenHeaders.flatMap((name) => request.header(name));
  const isOne = principalToken !== undefined && principalToken !== '' && others.length === 0;
  return isOne ? { principalToken } : { missing: 'one principal token is required' };
}

/** Principal and thumbprint of a certificate that is valid now and on this connection. A role certificate names no service. */
function certificateHolder({ peer }: Seen): { principal: string; thumbprint: string } | undefined {
  const { certificate } = peer;
  if (certificate === undefined) return undefined;
  const names = certificate.subject.split('\n').filter((part) => part.startsWith('CN='));
  const [name = '', ...others] = names.map((part) => part.slice(3).toLowerCase());
  if (others.length > 0 || !isPrincipalName(name)) return undefined;
  return { principal: name, thumbprint: certificateThumbprint(certificate) };
}

/**
 * The centralized patterns (docs/reference/protected-services.md): decides one request by asking the token server. Without a refusal it passes;
 * a server that gives no answer is a refusal too. `routing`: what the framework knows of the way of the request. Throws
 * `PolicyEngineError('invalid-options')` when the served domains are not stated.
 */
export function createGate(
  options: RequireGrantOptions,
): (request: NodeRequest, routing?: Partial<SeenRequest>) => Promise<Verdict> {
  const read = nodeRequests(options);
  const rule = new RequestRule(options).requireDomains();
  const headers = answerHeaders(options);
  const refusalOf = async (seen: Seen, routing?: Partial<SeenRequest>): Promise<Refusal | undefined> => {
    const outcome = rule.read({ ...seen, ...routing });
    if (outcome.kind === 'refused') return refuse(outcome.code, outcome.message);
    const who = whoCalls(seen, options.by);
    if ('missing' in who) return refuse(403, who.missing);
    const reason =
      outcome.kind === 'denied'
        ? `the rule asks for a resource that is not served: ${outcome.status}`
        : await reasonAgainst(options.access, { ...outcome.asked, ...who });
    if (reason === undefined) return undefined;
    options.onRefusal?.(reason);
    return refuse(403, 'access is not granted');
  };
  return async (request, routing) => ({ headers, refusal: await refusalOf(read(request), routing) });
}

/** `Vary` is empty where no header says who calls. */
function answerHeaders({ by }: RequireGrantOptions): AnswerHeaders {
  return { 'Cache-Control': 'no-store', Vary: by === 'principal-token' ? principalTokenHeaders.join(', ') : '' };
}

async function reasonAgainst(access: AccessChecker, query: Parameters<AccessChecker['check']>[0]) {
  try {
    return (await access.check(query)) ? undefined : 'not granted';
  } catch (error) {
    return `no answer: ${error instanceof Error ? error.message : 'unknown failure'}`;
  }
}
