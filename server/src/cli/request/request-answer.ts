import { z } from 'zod';
import { escapeControls } from '../../base/terminal-text.ts';
import type { Plan } from '../../management/plan-documents.ts';
import { print, printRaw } from '../run.ts';

/** A change request as the server shows it. Our own server answers: members that only people read are shown as they are. */
const requestSchema = z.object({
  id: z.int(),
  kind: z.enum(['role', 'edit', 'documents']),
  state: z.string(),
  author: z.string(),
  created: z.string(),
  expires: z.string(),
  closed: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  needed: z.int(),
  approvals: z.array(
    z.object({ by: z.string(), at: z.string(), comment: z.string().exactOptional(), current: z.boolean() }),
  ),
  role: z.string().exactOptional(),
  seconds: z.int().exactOptional(),
  operation: z.object({ method: z.string(), path: z.string() }).exactOptional(),
  files: z.array(z.object({ name: z.string(), text: z.string().exactOptional() })).exactOptional(),
  plan: z.unknown().optional(),
  problem: z.string().exactOptional(),
  seenByAuthor: z.boolean().exactOptional(),
});

const planSchema = z.looseObject({
  digest: z.string(),
  changes: z.array(z.unknown()),
  totals: z.looseObject({}),
  casesPassed: z.int(),
});

export type ShownRequest = Omit<z.output<typeof requestSchema>, 'plan'> & { readonly plan?: Plan };

/** Parses the answer of our own server. */
export function parseRequest(answer: unknown): ShownRequest {
  const { plan, ...request } = requestSchema.parse(answer);
  const effect = planSchema.safeParse(plan);
  return { ...request, ...(effect.success && { plan: effect.data as unknown as Plan }) };
}

/** `request 1: catalog:role.publisher for 1h, waits for 1 approval`. */
export function requestLine(request: ShownRequest): string {
  return `request ${request.id}: ${subjectOf(request)}, ${stateText(request)}`;
}

/** Content of a request on one line: the role and its time, the operation, or the files. */
export function subjectOf({ role, seconds, operation, files = [] }: ShownRequest): string {
  if (role !== undefined) return `${role} for ${spanText(seconds ?? 0)}`;
  if (operation !== undefined) return `${operation.method} ${operation.path}`;
  return files.length === 0 ? 'documents' : files.map(({ name }) => name).join(' ');
}

function stateText({ state, needed, approvals }: ShownRequest): string {
  if (state === 'unreviewed') return 'made by break-glass, waits for a review';
  if (state !== 'open') return state;
  const missing = needed - approvals.filter(({ current }) => current).length;
  return `waits for ${missing} ${missing === 1 ? 'approval' : 'approvals'}`;
}

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
  ['s', 1],
] as const;

/** A number of seconds in the largest unit that divides it: `1h`, `90s`. */
export function spanText(seconds: number): string {
  const [unit, size] = units.find(([, size]) => seconds % size === 0) ?? ['s', 1];
  return `${seconds / size}${unit}`;
}

/** Seconds of such a text; undefined for another one. */
export function secondsOf(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,7})([dhms])$/.exec(text) ?? [];
  const size = units.find(([name]) => name === unit)?.[1];
  return count === undefined || size === undefined ? undefined : Number(count) * size;
}

/** Prints what became of a request: its line, or with `json` the answer. */
export function printRequest(answer: unknown, json: boolean | undefined): void {
  if (json === true) print(answer, true);
  else printRaw(`${escapeControls(requestLine(parseRequest(answer)))}\n`);
}
