import type { PrincipalName } from '@signet/policy-engine/names';
import type { ManagementDeps } from '../../management/change-domain.ts';

/** Dependencies of the management routes beside its use cases. */
export interface ManagementRouteDeps extends ManagementDeps {
  /** `/management/v1`. */
  readonly basePath: string;
  /** Signs the cursors of lists. */
  readonly pagingSecret: Uint8Array;
  /** Configuration of change requests. */
  readonly requests: {
    /** Life of an open one. */
    readonly expirySeconds: number;
    /** True if both certificates of author and approver may be issued by operators. */
    readonly issuedByOperators: boolean;
  };
  /** Makes a change by break-glass known: a line in the log, and a metric. */
  readonly brokeGlass: (change: BrokenGlass) => void;
}

interface BrokenGlass {
  readonly caller: PrincipalName;
  /** Number of its record. */
  readonly request: number;
  readonly requestId?: string | undefined;
}
