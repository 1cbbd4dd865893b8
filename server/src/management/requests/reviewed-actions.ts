/** Actions by which a principal changes a protected domain without approvals; granted by their exact names alone. */
export const reviewedActions = ['apply_reviewed', 'break_glass'] as const;

/** All rights that have to do with approvals. */
export const approvalActions = ['approve_changes', ...reviewedActions] as const;
export type ApprovalAction = (typeof approvalActions)[number];
