/** Error codes of this package outside a decision (a decision never throws, it answers a status). */
export type PolicyEngineErrorCode =
  | 'invalid-name'
  | 'invalid-options'
  | 'invalid-json'
  | 'bundle-malformed'
  | 'bundle-signature'
  | 'bundle-key-unknown'
  | 'bundle-domain'
  | 'bundle-expired'
  | 'bundle-not-yet-valid'
  | 'bundle-rollback'
  | 'bundle-equivocation'
  | 'bundle-issued-earlier'
  | 'bundle-version-jump'
  | 'bundle-lifetime'
  | 'bundle-unreadable'
  | 'directory-unsafe'
  | 'policy-missing'
  | 'floor-unavailable'
  | 'keys-malformed'
  | 'keys-unavailable'
  | 'keys-replaced'
  | 'request-failed';

/** Base of every error that this package throws. `code` is stable, `message` may be shown to anyone. */
export class PolicyEngineError extends Error {
  override readonly name: string = 'PolicyEngineError';
  readonly code: PolicyEngineErrorCode;

  constructor(code: PolicyEngineErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
