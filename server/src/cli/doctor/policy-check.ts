import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseTimestamp } from '@signet/policy-engine/clock';
import { z } from 'zod';
import { type Finding, spanOf } from './finding.ts';

/** The part of the updater's `status.json` that this reads. */
const schema = z.object({
  domains: z.record(
    z.string(),
    z.object({ lastSuccess: z.string().optional(), expires: z.string().optional(), error: z.string().optional() }),
  ),
});

/** Policy that was not looked at for this long is late, in milliseconds: updaters look every minute. */
const lateMs = 600_000;

const advice = 'check that `signet-updater run` runs on this host; `signet-updater check` shows problems';

/** Findings about the age of the policy on this host, by the updater's status beside it. */
export function checkPolicy(policyDir: string, now: number): readonly Finding[] {
  const status = readStatus(join(policyDir, 'status.json'));
  if (status === undefined) {
    return [{ check: 'policy', state: 'failed', found: `no status of an updater found in \`${policyDir}\``, advice }];
  }
  return Object.entries(status.domains).map(([domain, { lastSuccess, expires, error }]) => {
    const problem = error === undefined ? '' : ` (${error})`;
    const [seen, end] = [parseTimestamp(lastSuccess ?? ''), parseTimestamp(expires ?? '')];
    if (seen === undefined || end === undefined) {
      return finding('failed', `\`${domain}\` was never fetched${problem}`);
    }
    if (now >= end)
      return finding('failed', `\`${domain}\` expired ${spanOf(now - end)} ago: all access is denied${problem}`);
    if (now - seen > lateMs)
      return finding('warning', `\`${domain}\` was confirmed ${spanOf(now - seen)} ago${problem}`);
    return { check: 'policy', state: 'ok', found: `\`${domain}\` was confirmed ${spanOf(now - seen)} ago` };
  });
}

function finding(state: 'warning' | 'failed', found: string): Finding {
  return { check: 'policy', state, found, advice };
}

function readStatus(file: string): z.output<typeof schema> | undefined {
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return undefined;
  }
}
