import type { RequiredAccess } from '@signet/policy-engine/http';
import { AccessRefusedError } from '../http-error.ts';

/** Query of the centralized patterns to the token server: `GET /access/{action}`. */
export interface AccessQuestion extends RequiredAccess {
  /** Principal in question, if it is not the bearer of `principalToken`. */
  readonly principal?: string;
  /** Thumbprint of the certificate that named `principal`: a revoked one is then answered as one. */
  readonly thumbprint?: string;
  /** A client's principal token, passed on: its bearer is then the caller. */
  readonly principalToken?: string;
}

/** Query to the token server. Throws when it refuses to answer or cannot be reached. */
export type AskServer = (question: AccessQuestion) => Promise<{ readonly granted: boolean }>;

/**
 * Passes only when the token server answers that access is granted. Everything else is a refusal: a no, a principal token that
 * the server does not accept, and also a server that gives no answer, since an unanswered question is not a yes.
 */
export async function requireGrant(ask: AskServer, question: AccessQuestion): Promise<void> {
  let granted: boolean;
  try {
    ({ granted } = await ask(question));
  } catch (error) {
    const reason = `no answer: ${error instanceof Error ? error.message : 'unknown failure'}`;
    throw new AccessRefusedError({ reason, message: 'access is not granted' });
  }
  if (!granted) throw new AccessRefusedError({ reason: 'not granted', message: 'access is not granted' });
}
