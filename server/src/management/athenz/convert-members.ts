import { foldAscii, maxNameLength } from '@signet/policy-engine/names';
import type { MemberShape } from '../documents/document-schema.ts';
import type { AthenzMember } from './export-shape.ts';
import type { Findings } from './findings.ts';
import { reportLeftOver } from './left-over.ts';

/** Member types of ZMS: a user, a service, a group, a headless user. */
const principalTypes = { user: 1, headless: 4 } as const;

/** The members of a role or group. `owner` is its name, as notices have it. */
export function convertMembers(
  findings: Findings,
  owner: string,
  members: readonly AthenzMember[] | null | undefined,
): MemberShape[] {
  const counting = (members ?? []).filter((member) => {
    const isPending = member.pending === true || member.approved === false || member.active === false;
    const name = `${owner}: ${member.memberName}`;
    if (isPending) findings.notice('pending members are skipped: they are not members yet', name);
    return !isPending;
  });
  for (const member of counting) reportMember(findings, `${owner}: ${member.memberName}`, member);
  reportHidden(findings, owner, counting);
  return counting.map(convertMember);
}

function convertMember({ memberName, expiration, reviewReminder, systemDisabled }: AthenzMember): MemberShape {
  const fields = {
    ...(isSaid(expiration) && { expires: expiration }),
    ...(isSaid(reviewReminder) && { review: reviewReminder }),
    ...(systemDisabled === true && { disabled: true }),
  };
  return Object.keys(fields).length === 0 ? memberName : { name: memberName, ...fields };
}

function reportMember(findings: Findings, name: string, member: AthenzMember): void {
  const { memberName, principalType } = member;
  if (memberName.includes('*')) {
    findings.notice('members are patterns, which `signet plan` and `apply` take with `--allow-wildcard` only', name);
  }
  if (memberName.includes(':group.') && member.systemDisabled === true) {
    findings.notice(
      'disabled groups in roles grant nothing here, as in tokens of Athenz; its access checks include them',
      name,
    );
  }
  const isPerson = principalType === principalTypes.user || principalType === principalTypes.headless;
  if ((isPerson && !memberName.startsWith('user.')) || /^(?:unix|ygrp)\./.test(memberName)) {
    findings.notice('members do not exist as services in Athenz: the owner of that domain can create them here', name);
  }
  reportLeftOver(findings, 'members', name, member);
}

/** An entry that is disabled or ends shuts a principal out of Athenz's access checks although a pattern fits; here it does not. */
function reportHidden(findings: Findings, owner: string, members: readonly AthenzMember[]): void {
  const prefixes = new Set(
    members.flatMap(({ memberName }) => (memberName.endsWith('*') ? [foldAscii(memberName.slice(0, -1))] : [])),
  );
  if (prefixes.size === 0) return;
  for (const { memberName, expiration, systemDisabled } of members) {
    if (memberName.endsWith('*') || (systemDisabled !== true && !isSaid(expiration))) continue;
    if (hasPrefix(foldAscii(memberName), prefixes)) {
      const message =
        'members that are disabled or expire also fit a pattern of the same role: the pattern keeps them in it, as in tokens of Athenz';
      findings.notice(message, `${owner}: ${memberName}`);
    }
  }
}

/** Looks for each beginning of the name, so that many prefixes cost no more than a few; longer names are refused anyway. */
function hasPrefix(name: string, prefixes: ReadonlySet<string>): boolean {
  for (let length = 0; length <= Math.min(name.length, maxNameLength); length += 1) {
    if (prefixes.has(name.slice(0, length))) return true;
  }
  return false;
}

function isSaid(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text !== '';
}
