import { parseTimestamp } from '@signet/policy-engine/clock';
import { z } from 'zod';
import type { SearchHit, ShownChange } from '../shapes.ts';
import type { Span } from './timeline.ts';

/* Memberships of a principal over time: those of today, and what the audit log says of how they began and ended. */

const list = z.object({
  name: z.string(),
  members: z
    .array(z.object({ name: z.string(), expires: z.number().nullish(), disabled: z.boolean().nullish() }))
    .nullish(),
});
const sideShape = z.object({ roles: z.array(list).nullish(), groups: z.array(list).nullish() });

interface Membership {
  readonly until?: number;
  readonly isDisabled: boolean;
}

interface Open extends Membership {
  /** Absent: it began before the first record. */
  readonly from?: number;
}

/** Memberships that one side of a record names, by the full name of the role or group. */
function membershipsIn(subject: string, side: unknown, principal: string): ReadonlyMap<string, Membership> {
  const parsed = sideShape.safeParse(side).data;
  const found = new Map<string, Membership>();
  for (const [kind, lists] of [['role', parsed?.roles] as const, ['group', parsed?.groups] as const]) {
    for (const { name, members } of lists ?? []) {
      const member = members?.find((each) => each.name === principal);
      if (member === undefined) continue;
      const { expires, disabled } = member;
      const isDisabled = disabled === true;
      found.set(`${subject}:${kind}.${name}`, { isDisabled, ...(typeof expires === 'number' && { until: expires }) });
    }
  }
  return found;
}

/** Spans of all memberships, those that still last first. `changes` as the API lists them: newest first. */
export function membershipSpans(
  principal: string,
  hits: readonly SearchHit[],
  changes: readonly ShownChange[],
): Span[] {
  const open = new Map<string, Open>();
  const ended: Span[] = [];
  const close = (name: string, { isDisabled, ...span }: Open, at: number) =>
    ended.push(spanOf(name, span.until !== undefined && span.until <= at ? span : { ...span, until: at, isCut: true }));
  for (const { at: text, subject, before, after } of changes.toReversed()) {
    const at = parseTimestamp(text) ?? 0;
    const [was, is] = [membershipsIn(subject, before, principal), membershipsIn(subject, after, principal)];
    for (const [name, membership] of was) {
      const known = open.get(name) ?? membership;
      open.delete(name);
      const next = is.get(name);
      if (next === undefined || next.isDisabled) close(name, known, at);
      else open.set(name, { ...known, ...next });
    }
    for (const [name, membership] of is) {
      if (!was.has(name) && !membership.isDisabled) open.set(name, { ...membership, from: at });
    }
  }
  const held = hits.filter(({ kind, disabled }) => kind !== 'assertion' && disabled !== true);
  return [...held.map((hit) => currentSpan(hit, open)), ...ended.toReversed()];
}

function currentSpan({ domain, kind, name, entry, expires }: SearchHit, open: ReadonlyMap<string, Open>): Span {
  const full = `${domain}:${kind}.${name}`;
  const from = open.get(full)?.from;
  const until = expires === undefined ? undefined : parseTimestamp(expires);
  const label = entry.includes('*') ? `${full} (as ${entry})` : full;
  return spanOf(label, { ...(from !== undefined && { from }), ...(until !== undefined && { until }) });
}

function spanOf(label: string, span: Omit<Span, 'label' | 'kind'>): Span {
  return { label, kind: 'membership', ...span };
}
