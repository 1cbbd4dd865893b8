import { type Command, InvalidArgumentError } from 'commander';
import { planDigestSchema } from '../../management/plan-file.ts';
import { ask } from '../ask.ts';
import { type ReadOptions, reader } from '../manage/commands.ts';
import { manage } from '../manage/management-client.ts';
import { action, CommandFailedError, print, UsageError } from '../run.ts';
import { parseRequest, printRequest } from './request-answer.ts';
import { describeRequest, requestNumber } from './request-command.ts';

interface ApproveOptions extends ReadOptions {
  readonly plan?: string;
  readonly comment?: string;
}

/** `signet approve`. */
export function approveCommand(): Command {
  return reader('approve', 'approve the effect of a change request, or review a change made by break-glass')
    .argument('<id>', 'number of the request', requestNumber)
    .option(
      '--plan <digest>',
      'approve the effect with this digest, as `signet request show` prints it, without asking',
      digest,
    )
    .option('--comment <text>', 'comment, recorded with the approval')
    .action(action(approve));
}

/** `signet reject`. */
export function rejectCommand(): Command {
  return reader('reject', 'reject a change request')
    .argument('<id>', 'number of the request', requestNumber)
    .requiredOption('--comment <text>', 'why, which its author sees')
    .action(
      action(async (id: string, options: ReadOptions & { readonly comment: string }) => {
        const request = {
          method: 'POST',
          path: ['requests', id, 'rejection'],
          body: { comment: options.comment },
        } as const;
        printRequest(await manage(options, request), options.json);
      }),
    );
}

/** `signet withdraw`. */
export function withdrawCommand(): Command {
  return reader('withdraw', 'withdraw a change request that the caller made')
    .argument('<id>', 'number of the request', requestNumber)
    .action(
      action(async (id: string, options: ReadOptions) => {
        await manage(options, { method: 'DELETE', path: ['requests', id] });
        print(
          options.json === true ? { id: Number(id), state: 'withdrawn' } : `request ${id}: withdrawn`,
          options.json,
        );
      }),
    );
}

function digest(text: string): string {
  const parsed = planDigestSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(parsed.error.issues[0]?.message ?? 'is not a digest');
}

async function approve(id: string, options: ApproveOptions): Promise<void> {
  const path = ['requests', id, 'approval'];
  const plan = options.plan ?? (await approvedEffect(id, options));
  const { comment } = options;
  const body = { ...(plan !== undefined && { plan }), ...(comment !== undefined && { comment }) };
  printRequest(await manage(options, { method: 'POST', path, body }), options.json);
}

/** Shows a request to a person and asks. Answers the digest of the effect that was shown; undefined for one that was applied before. */
async function approvedEffect(id: string, options: ApproveOptions): Promise<string | undefined> {
  const request = parseRequest(await manage(options, { method: 'GET', path: ['requests', id] }));
  const isReview = request.state === 'unreviewed';
  if (!isReview && request.plan === undefined) {
    describeRequest(request);
    throw new CommandFailedError();
  }
  // A review has no effect to be named by: the comment of a program stands for it.
  if (isReview && options.comment !== undefined) return undefined;
  describeRequest(request);
  const answer = await ask('approve?', 'y/N');
  if (answer === undefined) {
    const how = isReview ? 'use --comment' : 'use --plan with the digest of the effect';
    throw new UsageError(`without a terminal nobody can be asked: ${how}`);
  }
  if (['y', 'yes'].includes(answer.toLowerCase())) return request.plan?.digest;
  process.stderr.write('signet: not approved\n');
  throw new CommandFailedError();
}
