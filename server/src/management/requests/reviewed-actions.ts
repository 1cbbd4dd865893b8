import { reviewedActions } from '../../access/acts-alone.ts';

/** All rights that have to do with approvals. */
export const approvalActions = ['approve_changes', ...reviewedActions] as const;
export type ApprovalAction = (typeof approvalActions)[number];
