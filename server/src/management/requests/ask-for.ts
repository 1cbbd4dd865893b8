import {
  ConflictError,
  InvalidRequestError,
  PreconditionFailedError,
  ServiceUnavailableError,
  TooLargeError,
  TooManyRequestsError,
} from '../../errors.ts';
import type { RequestContent, StoredRequest } from '../../model/change-requests.ts';
import type { Store, StoreReader, StoreTransaction } from '../../model/store.ts';
import type { ApplySummary } from '../apply-documents.ts';
import type { MadeChange } from '../judge-edit.ts';
import { isStill } from '../plan-basis.ts';
import { emergencyMs, recordBreakGlass, requireBreakGlass } from './break-glass.ts';
import { mostOf } from './needed.ts';
import { type Asking, type Prepared, prepare } from './prepare.ts';
import { examine, planFor, wholeDigest } from './request-effect.ts';

/** `request`: to be approved by another person; `break-glass`: at once, to be reviewed afterwards. */
export type Mode = 'request' | 'break-glass';

interface AskOptions {
  readonly mode: Mode;
  readonly content: RequestContent;
  /** Digest of the effect that the author has seen, for documents. */
  readonly plan?: string;
  /** Life of an open request in milliseconds. */
  readonly requestMs: number;
}

export type Asked =
  /** The change is made: no approval was needed, or break-glass made it, with its record `request`. */
  | { readonly kind: 'made'; readonly made: MadeChange | ApplySummary; readonly request?: StoredRequest }
  | { readonly kind: 'stored'; readonly request: StoredRequest };

const maxTries = 3;
/** Maximum of a stored request as JSON. */
const maxContentBytes = 256 * 1024;
/** Maximum of open requests. */
const maxOpen = { ofAuthor: 20, ofDomain: 50 } as const;
const retryAfterSeconds = 60;

/**
 * Asks for a change: it is judged now, by the rights of its author and all rules, made at once where no approval is missing, and stored otherwise.
 * Throws what refuses it, `PreconditionFailedError` for another effect than that of the `plan`, `TooLargeError`, `TooManyRequestsError`.
 */
export async function askFor(store: Store, asking: Asking, options: AskOptions): Promise<Asked> {
  const { mode, content } = options;
  if (Buffer.byteLength(JSON.stringify(content)) > maxContentBytes && mode === 'request') {
    throw new TooLargeError(`a request takes at most ${maxContentBytes / 1024} KiB: ask for fewer changes at once`);
  }
  if (mode === 'break-glass' && (asking.context.reason ?? '').trim() === '') {
    throw new InvalidRequestError('break-glass requires a reason: reason is missing');
  }
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const examined = await store.view((reader) => examine(reader, content, asking));
    const { prepared, sides } = examined;
    if (options.plan !== undefined && (await planFor(examined, prepared.rights, asking.now)).digest !== options.plan) {
      throw new PreconditionFailedError('the effect differs from the plan: plan again');
    }
    const effect = await wholeDigest(examined, asking.now);
    const asked = await store.change(asking.context, async (transaction) => {
      if (!(await isStill(sides.basis, transaction))) return undefined;
      const again = await prepare(transaction, content, asking);
      if (mode === 'break-glass' && again.needs.size > 0) return await breakGlass(transaction, again, asking, options);
      return await storeOrMake(transaction, again, asking, { ...options, effect });
    });
    if (asked !== undefined) return asked;
  }
  throw new ServiceUnavailableError('the domains change all the time: send the request again');
}

async function breakGlass(
  transaction: StoreTransaction,
  { moved, needs, rights }: Prepared,
  asking: Asking,
  { content }: AskOptions,
): Promise<Asked> {
  const { author, context, now } = asking;
  if (content.kind === 'edit' && content.operation === 'DeleteDomain') {
    throw new ConflictError('break-glass deletes no domain: ask for it with request=true');
  }
  await requireBreakGlass(moved, needs, { caller: author.caller, holds: rights.holds }, transaction);
  const bounded = await prepare(transaction, content, { ...asking, membersUntil: now + emergencyMs });
  const made = await bounded.save(transaction);
  const request = await recordBreakGlass(transaction, { content, context, now, moved: bounded.moved, needs });
  return { kind: 'made', made, request };
}

async function storeOrMake(
  transaction: StoreTransaction,
  { moved, needs, save }: Prepared,
  { author, context, now }: Asking,
  { content, requestMs, effect }: AskOptions & { readonly effect: string },
): Promise<Asked> {
  const { approvals: needed } = mostOf(needs.values());
  if (needed === 0 && content.kind !== 'role') return { kind: 'made', made: await save(transaction) };
  const { reason, certificateSerial } = context;
  const request = {
    author: author.caller,
    ...(certificateSerial !== undefined && { certificate: certificateSerial }),
    created: now,
    expires: now + requestMs,
    ...(reason !== undefined && { reason }),
    domains: moved.map(({ change }) => change.name).sort(),
    needed,
    effect,
    content,
    approvals: [],
  };
  if (needed === 0) {
    await save(transaction);
    return { kind: 'stored', request: await transaction.addRequest({ ...request, state: 'applied', closed: now }) };
  }
  await requireRoom(transaction, request, now);
  return { kind: 'stored', request: await transaction.addRequest({ ...request, state: 'open' }) };
}

async function requireRoom(
  reader: StoreReader,
  { author, domains }: Pick<StoredRequest, 'author' | 'domains'>,
  now: number,
): Promise<void> {
  for (const domain of domains) {
    const { ofAuthor, ofDomain } = await reader.openRequests({ author, domain, now });
    if (ofAuthor >= maxOpen.ofAuthor) {
      throw new TooManyRequestsError(`\`${author}\` has ${maxOpen.ofAuthor} open requests: withdraw one`, {
        retryAfterSeconds,
      });
    }
    if (ofDomain >= maxOpen.ofDomain) {
      throw new TooManyRequestsError(`domain \`${domain}\` has ${maxOpen.ofDomain} open requests`, {
        retryAfterSeconds,
      });
    }
  }
}
