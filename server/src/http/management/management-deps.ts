import type { ManagementDeps } from '../../management/change-domain.ts';

/** Dependencies of the management routes beside its use cases. */
export interface ManagementRouteDeps extends ManagementDeps {
  /** `/management/v1`. */
  readonly basePath: string;
  /** Signs the cursors of lists. */
  readonly pagingSecret: Uint8Array;
}
