import type { Command } from 'commander';
import { action, UsageError } from '../run.ts';
import { given, list, type ReadOptions, reader, timeOf } from './commands.ts';

interface SearchOptions extends ReadOptions {
  readonly member?: string;
  readonly resource?: string;
  readonly action?: string;
}

interface ReviewOptions extends ReadOptions {
  readonly before?: string;
  readonly domain?: string;
}

/** `signet search`: where is this principal a member, what names this resource or action? */
export function searchCommand(): Command {
  return reader('search', 'find the memberships of a principal, or the assertions that name a resource or action')
    .option('--member <name>', 'principal, group or pattern')
    .option('--resource <resource>', 'domain:entity, or an entity of any domain')
    .option('--action <action>', 'e.g. read')
    .action(
      action(async ({ member, resource, action: wanted, ...options }: SearchOptions) => {
        const query = given({ member, resource, action: wanted });
        if (Object.keys(query).length === 0) throw new UsageError('--member, --resource or --action is required');
        await list(options, ['search'], query);
      }),
    );
}

/** `signet reviews`: the memberships that are due for review. */
export function reviewsCommand(): Command {
  return reader('reviews', 'list memberships due for review, oldest first')
    .option('--before <time>', 'due by this time: 2027-01-01T00:00:00Z, or 7d, 12h, 30m from now (default: now)')
    .option('--domain <domain>', 'only this domain')
    .action(
      action(async ({ before, domain, ...options }: ReviewOptions) => {
        await list(options, ['reviews'], given({ before: before === undefined ? undefined : timeOf(before), domain }));
      }),
    );
}
