import type { DocumentProblem } from '../../errors.ts';

/** The server did not do what it was asked to; the message is its own. */
export class ManagementRefusedError extends Error {
  override readonly name = 'ManagementRefusedError';
  readonly status: number;
  /** Problems in the documents that were sent. */
  readonly problems: readonly DocumentProblem[] | undefined;

  constructor(status: number, message: string, problems?: readonly DocumentProblem[]) {
    super(message);
    this.status = status;
    this.problems = problems;
  }

  /** True if the same request may be accepted later: the server is busy, or cannot be used at present. */
  get isTemporary(): boolean {
    return isTemporary(this.status);
  }
}

export function isTemporary(status: number): boolean {
  return status === 429 || status === 503;
}
