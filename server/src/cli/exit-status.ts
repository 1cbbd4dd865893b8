/** The exit statuses of every command; the last two are EX_TEMPFAIL and EX_CONFIG of sysexits.h, of a store as well. */
export const exitStatus = { done: 0, failed: 1, usage: 2, unavailable: 75, config: 78 } as const;
