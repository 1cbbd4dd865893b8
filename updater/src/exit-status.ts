import type { Outcome } from './outcome.ts';
import type { UpdaterErrorCode } from './updater-errors.ts';

/** Exit statuses of the updater; the closed list of the README. */
export const exitStatus = {
  /** Every domain has fresh policy. */
  ok: 0,
  /** Stale or missing policy, or the server answered and refused. */
  refused: 1,
  /** Command line, configuration, identity files, unsafe policy directory, no plain file in the place of a bundle. */
  usage: 2,
  /** Unreachable: no trusted connection to the server, or no answer in time. */
  unreachable: 3,
  /** The disk refused. */
  storage: 4,
  /** A bundle is not acceptable: signature, key, domain, life, form, or one that may not follow what was accepted. */
  rejected: 5,
  /** The lock of the policy directory is held by another updater. */
  locked: 6,
} as const;

/** Exit status of the updater. */
export type ExitStatus = (typeof exitStatus)[keyof typeof exitStatus];

const ofOutcome: Readonly<Record<Outcome['kind'], ExitStatus>> = {
  updated: exitStatus.ok,
  unchanged: exitStatus.ok,
  refused: exitStatus.refused,
  postponed: exitStatus.refused,
  unreachable: exitStatus.unreachable,
  'not-stored': exitStatus.storage,
  unsafe: exitStatus.usage,
  rejected: exitStatus.rejected,
};

const ofError: Readonly<Record<UpdaterErrorCode, ExitStatus>> = {
  configuration: exitStatus.usage,
  'unsafe-directory': exitStatus.usage,
  'unsafe-file': exitStatus.usage,
  locked: exitStatus.locked,
  storage: exitStatus.storage,
};

/** Order in which one of several failures is reported: the one that most needs a person. */
const bySeverity: readonly ExitStatus[] = [
  exitStatus.usage,
  exitStatus.locked,
  exitStatus.storage,
  exitStatus.rejected,
  exitStatus.unreachable,
  exitStatus.refused,
];

/** The exit status for several results: the most severe one. */
export function worst(statuses: Iterable<ExitStatus>): ExitStatus {
  const present = new Set(statuses);
  return bySeverity.find((status) => present.has(status)) ?? exitStatus.ok;
}

/** The exit status for what became of one domain. */
export function statusOfOutcome(outcome: Outcome): ExitStatus {
  return ofOutcome[outcome.kind];
}

/** The exit status for an error that ends a command. */
export function statusOfError(code: UpdaterErrorCode): ExitStatus {
  return ofError[code];
}
