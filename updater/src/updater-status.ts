import { formatTimestamp } from '@signet/policy-engine/clock';
import { bundleSuffix } from '@signet/policy-engine/internal/files';
import type { DomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { bundleName, fileNames, type PolicyDirectory } from './files/policy-directory.ts';
import { isSuccess, type Outcome } from './outcome.ts';

const timestamp = z.string();
/** The kinds of outcomes. */
export const outcomeKinds = [
  'updated',
  'unchanged',
  'rejected',
  'refused',
  'unreachable',
  'not-stored',
  'unsafe',
  'postponed',
] as const;

const domainSchema = z.object({
  outcome: z.enum(outcomeKinds),
  lastAttempt: timestamp,
  lastSuccess: timestamp.optional(),
  /** Failed attempts since the last success. */
  failures: z.int(),
  /** Code and text of the last failure; absent after a success. */
  reason: z.string().optional(),
  error: z.string().optional(),
  /** The last bundle that was accepted and is on disk. */
  epoch: z.int().optional(),
  version: z.int().optional(),
  issued: timestamp.optional(),
  expires: timestamp.optional(),
  kid: z.string().optional(),
});

const statusSchema = z.object({
  server: z.string(),
  pid: z.int(),
  lastRun: timestamp,
  certificateExpires: timestamp.optional(),
  keys: z.object({
    kids: z.array(z.string()),
    /** Reasons why keys that the server publishes are left out; absent when none is. */
    leftOut: z.array(z.string()).optional(),
    fetched: timestamp.optional(),
    error: z.string().optional(),
  }),
  domains: z.record(z.string(), domainSchema),
  /** Domains that have a bundle on disk and are no longer configured: their files stay. */
  unconfigured: z.array(z.string()),
  /** Selection with `domains: auto`: how many domains name this host, when that was last confirmed, and which no longer do since when. */
  selection: z
    .object({
      domains: z.int(),
      confirmed: timestamp.optional(),
      notNamedSince: z.record(z.string(), timestamp).optional(),
      error: z.string().optional(),
    })
    .optional(),
  /** Error of the configuration on disk, which is not in use then. */
  configurationError: z.string().optional(),
});

/** The content of `status.json`: what the last run found. Timestamps are RFC 3339. */
export type Status = z.infer<typeof statusSchema>;
/** Result of the last run for one domain. */
export type DomainStatus = z.infer<typeof domainSchema>;

const maxStatusBytes = 16 << 20;

/** The status file, or `undefined` when there is none that can be read. */
export async function readStatus(directory: PolicyDirectory): Promise<Status | undefined> {
  const text = await directory.readText(fileNames.status, maxStatusBytes);
  if (text === undefined) return undefined;
  try {
    return statusSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}

/** Replaces `status.json` in one step. Throws `UpdaterError`: `storage`, `unsafe-file`. */
export async function writeStatus(directory: PolicyDirectory, status: Status): Promise<void> {
  await directory.write(fileNames.status, Buffer.from(`${JSON.stringify(status, null, 2)}\n`));
}

function failureText(outcome: Outcome): { reason: string; error: string } | undefined {
  switch (outcome.kind) {
    case 'updated':
    case 'unchanged':
      return undefined;
    case 'rejected':
    case 'unreachable':
      return { reason: outcome.reason, error: outcome.message };
    case 'refused':
      return { reason: `status-${outcome.status}`, error: outcome.message };
    case 'not-stored':
    case 'unsafe':
    case 'postponed':
      return { reason: outcome.kind, error: outcome.message };
    default:
      return outcome satisfies never;
  }
}

/** A domain's status after an attempt at `now` (ms). */
export function domainStatus(before: DomainStatus | undefined, outcome: Outcome, now: number): DomainStatus {
  const at = formatTimestamp(now);
  if (isSuccess(outcome)) {
    const { epoch, version, issued, expires, kid } = outcome.bundle;
    const times = { issued: formatTimestamp(issued), expires: formatTimestamp(expires) };
    return { outcome: outcome.kind, lastAttempt: at, lastSuccess: at, failures: 0, epoch, version, ...times, kid };
  }
  const { reason: _, error: __, ...kept } = before ?? { failures: 0 };
  return { ...kept, outcome: outcome.kind, lastAttempt: at, failures: kept.failures + 1, ...failureText(outcome) };
}

/** Domains of the bundles in a listing of the directory that are not in `configured`. */
export function unconfiguredDomains(names: readonly string[], configured: readonly DomainName[]): string[] {
  const known = new Set(configured.map(bundleName));
  return names
    .filter((name) => name.endsWith(bundleSuffix) && !name.startsWith('.') && !known.has(name))
    .map((name) => name.slice(0, -bundleSuffix.length))
    .sort();
}
