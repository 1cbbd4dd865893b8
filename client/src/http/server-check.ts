import { checkServerIs, PolicyEngineError, type ServerCheck } from '@signet/policy-engine/server-identity';
import { SignetClientError } from '../client-errors.ts';

/** The check for the option `serverIdentity`. Throws `invalid-argument`. */
export function serverCheck(identity: string | undefined): ServerCheck {
  try {
    return checkServerIs(identity);
  } catch (error) {
    if (!(error instanceof PolicyEngineError)) throw error;
    throw new SignetClientError('invalid-argument', error.message, { cause: error });
  }
}
