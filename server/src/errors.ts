import { InvalidNameError } from '@signet/policy-engine/names';

/** Error codes of the server that a caller may see. The list is closed: each code has one HTTP status and one exit status. */
export type DomainErrorCode =
  | 'invalid-request'
  | 'invalid-scope'
  | 'invalid-target'
  | 'unsupported-grant'
  | 'unauthenticated'
  | 'forbidden'
  | 'no-granted-roles'
  | 'unknown-domain'
  | 'not-found'
  | 'conflict'
  | 'precondition-failed'
  | 'invalid-document'
  | 'store-unavailable'
  | 'service-unavailable'
  | 'store-refused'
  | 'provider-failed'
  | 'too-large'
  | 'too-many-requests';

interface DomainErrorOptions extends ErrorOptions {
  /** Detail for the log only: never sent to a caller. Holds no secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
  /** Delay before a retry, if known. */
  readonly retryAfterSeconds?: number;
}

/** Base of every expected failure of the server. `message` is safe to show to anyone, `detail` is for the log. */
export abstract class DomainError extends Error {
  abstract readonly code: DomainErrorCode;
  readonly detail: Readonly<Record<string, unknown>> | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(message: string, options: DomainErrorOptions = {}) {
    super(message, options);
    this.detail = options.detail;
    this.retryAfterSeconds = options.retryAfterSeconds;
  }
}

/** The request is malformed; the message names the field or the rule. */
export class InvalidRequestError extends DomainError {
  override readonly name = 'InvalidRequestError';
  readonly code = 'invalid-request';
}

/** The scope cannot be read, mixes domains or asks for what cannot be given (docs/reference/http.md#oauth-errors). */
export class InvalidScopeError extends DomainError {
  override readonly name = 'InvalidScopeError';
  readonly code = 'invalid-scope';
}

/** A token for a resource by its address (RFC 8707): the scope names the domain. */
export class InvalidTargetError extends DomainError {
  override readonly name = 'InvalidTargetError';
  readonly code = 'invalid-target';
}

/** A grant type other than `client_credentials`. */
export class UnsupportedGrantError extends DomainError {
  override readonly name = 'UnsupportedGrantError';
  readonly code = 'unsupported-grant';
}

/** Caller missing or unknown. The reason goes to the log (`detail`), not to the caller. */
export class UnauthenticatedError extends DomainError {
  override readonly name = 'UnauthenticatedError';
  readonly code = 'unauthenticated';
}

/** No credentials were presented. */
export class MissingCredentialsError extends UnauthenticatedError {}

/** A client is named beside the certificate that is not its holder (RFC 6749 §5.2, `invalid_client`). */
export class WrongClientError extends DomainError {
  override readonly name = 'WrongClientError';
  readonly code = 'unauthenticated';
}

/** The caller is known and may not do this. */
export class ForbiddenError extends DomainError {
  override readonly name = 'ForbiddenError';
  readonly code = 'forbidden';
}

/** The principal holds none of the roles asked for; the same text whether a role exists or not (docs/reference/tokens.md#granted-roles). */
export class NoGrantedRolesError extends DomainError {
  override readonly name = 'NoGrantedRolesError';
  readonly code = 'no-granted-roles';

  constructor(domain: string, options?: DomainErrorOptions) {
    super(`principal has no access to any of the roles asked for in domain \`${domain}\``, options);
  }
}

/** Domain that does not exist, or a disabled one: the two are not told apart. */
export class UnknownDomainError extends DomainError {
  override readonly name = 'UnknownDomainError';
  readonly code = 'unknown-domain';

  constructor(domain: string, options?: DomainErrorOptions) {
    super(`domain \`${domain}\` does not exist`, options);
  }
}

/** Object other than a domain that does not exist. */
export class NotFoundError extends DomainError {
  override readonly name = 'NotFoundError';
  readonly code = 'not-found';
}

/** The change does not fit what is there. */
export class ConflictError extends DomainError {
  override readonly name = 'ConflictError';
  readonly code = 'conflict';
}

/** The store moved on since the caller read the version that the change is based on. */
export class PreconditionFailedError extends DomainError {
  override readonly name = 'PreconditionFailedError';
  readonly code = 'precondition-failed';
}

/** A body, name or list over its limit. */
export class TooLargeError extends DomainError {
  override readonly name = 'TooLargeError';
  readonly code = 'too-large';
}

/** A caller used up its rate limit, or has too many requests in flight. */
export class TooManyRequestsError extends DomainError {
  override readonly name = 'TooManyRequestsError';
  readonly code = 'too-many-requests';
}

/** Problem in a document, with its place. Line and column count from 1. */
export interface DocumentProblem {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The path of the field, e.g. `roles.reader.members[0]`; empty for the document as a whole. */
  readonly field: string;
  readonly message: string;
}

/** `file:line:column: field: message`, the form that editors understand. */
export function formatProblem(problem: DocumentProblem): string {
  const field = problem.field === '' ? '' : `${problem.field}: `;
  return `${problem.file}:${problem.line}:${problem.column}: ${field}${problem.message}`;
}

/** Documents that are refused as a whole; `problems` lists everything that is wrong with them. */
export class InvalidDocumentError extends DomainError {
  override readonly name: string = 'InvalidDocumentError';
  readonly code = 'invalid-document';
  readonly problems: readonly DocumentProblem[];

  constructor(problems: readonly DocumentProblem[], options?: DomainErrorOptions) {
    super(problems.map(formatProblem).join('\n'), options);
    this.problems = problems;
  }
}

/** Policy tests that do not get the answer that they expect; each problem names one. */
export class PolicyTestsFailedError extends InvalidDocumentError {
  override readonly name = 'PolicyTestsFailedError';
}

/** The store cannot be read or written now (locked, full disk, gone): changes wait, reads go on from the snapshot. */
export class StoreUnavailableError extends DomainError {
  override readonly name = 'StoreUnavailableError';
  readonly code = 'store-unavailable';
}

/** Store opened for reading: by choice, or because its disk accepts no writes. */
export class StoreReadOnlyError extends StoreUnavailableError {}

/** The change is in the store, and it is not certain that it would survive: it is not acknowledged, and must not be done again. */
export class UnacknowledgedChangeError extends StoreUnavailableError {}

/** Reason why a store is not opened at all. */
type StoreRefusal =
  | 'behind'
  | 'witness'
  | 'not-a-file'
  | 'symlink'
  | 'owner'
  | 'mode'
  | 'corrupt'
  | 'newer-schema'
  | 'diverged-schema'
  | 'older-schema'
  | 'foreign-schema'
  | 'seal'
  | 'missing'
  | 'partial-copy'
  | 'standby'
  | 'log-in'
  | 'encoding'
  | 'old-server';

/** The store cannot be used: a program that needs it ends with `exitStatus` (EX_CONFIG of sysexits.h). */
export class StoreRefusedError extends DomainError {
  override readonly name = 'StoreRefusedError';
  readonly code = 'store-refused';
  readonly exitStatus = 78;
  readonly reason: StoreRefusal;

  constructor(reason: StoreRefusal, message: string, options?: DomainErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Failure of another service that this one depends on; trying again later may help. */
export class ServiceUnavailableError extends DomainError {
  override readonly name = 'ServiceUnavailableError';
  readonly code = 'service-unavailable';
}

/** A failure as plain data, for another process of this server: what a caller may see of it. */
export interface PlainFailure {
  readonly code: DomainErrorCode;
  readonly message: string;
  readonly retryAfterSeconds?: number;
  readonly problems?: readonly DocumentProblem[];
}

/** Problems that go to another process, and to a caller. */
const maxRelayedProblems = 1000;

/** The failure as plain data; undefined for one that no caller may see. */
export function plainFailure(error: unknown): PlainFailure | undefined {
  if (error instanceof InvalidNameError) {
    return { code: 'invalid-request', message: error.message };
  }
  if (!(error instanceof DomainError)) return undefined;
  const { code, message, retryAfterSeconds } = error;
  // Its message names the place of the store.
  if (error instanceof StoreRefusedError) return { code, message: 'the store cannot be used' };
  if (error instanceof InvalidDocumentError) {
    const problems = error.problems.slice(0, maxRelayedProblems).map(({ file, line, column, field, message: what }) => {
      return { file, line, column, field, message: what };
    });
    return { code, message: summaryOf(error), problems };
  }
  return { code, message, ...(retryAfterSeconds !== undefined && { retryAfterSeconds }) };
}

function summaryOf({ problems, name }: InvalidDocumentError): string {
  const [first] = problems;
  const what = name === 'PolicyTestsFailedError' ? 'failing policy tests' : 'problems in the documents';
  return `${what}: ${problems.length}${first === undefined ? '' : `, the first: ${formatProblem(first)}`}`;
}

/** A failure that another process of this server has answered. */
export class RelayedError extends DomainError {
  override readonly name = 'RelayedError';
  readonly code: DomainErrorCode;
  readonly problems: readonly DocumentProblem[] | undefined;

  constructor({ code, message, retryAfterSeconds, problems }: PlainFailure) {
    super(message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
    this.code = code;
    this.problems = problems;
  }
}
