import type { Status } from '@signet/policy-engine/policy';
import { describeAssertion } from '../../management/describe-assertion.ts';
import {
  describePath,
  type ShownExplanation,
  type ShownPath,
  type ShownRole,
} from '../../management/describe-explanation.ts';

/** One box: what it is, and which one. */
export interface PictureBox {
  readonly kind: string;
  readonly text: string;
  /** `missing`: it would have to be there, or fits in part only. */
  readonly tone: 'plain' | 'granted' | 'denied' | 'missing';
}

/** How an answer comes about, from the principal down to the answer: rows of boxes, joined by arrows. */
export interface Picture {
  readonly title: string;
  /** The same in words. */
  readonly description: string;
  readonly rows: readonly (readonly PictureBox[])[];
}

/** Boxes in a row; the others are counted in the last one. */
const rowLength = 3;

/** Draws an explanation as boxes. */
export function pictureOf(explained: ShownExplanation): Picture {
  const { granted, principal, status } = explained;
  const rows: PictureBox[][] = [
    [box('principal', principal)],
    ...(explained.decidedBy === undefined ? undecidedRows(explained) : decidedRows(explained)),
    [box('answer', answerText(granted, status), granted ? 'granted' : 'denied')],
  ];
  const shown = rows.map(shortened);
  const words = shown.map((row) => row.map(({ kind, text }) => `${kind} ${text}`).join(' and '));
  return { title: `How ${principal} comes to ${status}`, description: `${words.join(', then ')}.`, rows: shown };
}

function box(kind: string, text: string, tone: PictureBox['tone'] = 'plain'): PictureBox {
  return { kind, text, tone };
}

function answerText(granted: boolean, status: Status): string {
  return `${granted ? 'granted' : 'not granted'} (${status})`;
}

/** The role that brought the deciding assertion in, and every way into it that counts. */
function decidedRows({ decidedBy, roles, granted }: ShownExplanation): PictureBox[][] {
  if (decidedBy === undefined) return [];
  const { heldRole, policy, assertion } = decidedBy;
  const held = roles.find(({ role }) => role === heldRole);
  const tone = granted ? 'granted' : 'denied';
  return [
    (held?.paths ?? []).filter(counts).map(wayBox),
    [box('role', heldRole)],
    [box(`assertion of policy ${policy}`, describeAssertion(assertion), tone)],
  ].filter(({ length }) => length > 0);
}

/** The roles held, and the assertion that comes closest. */
function undecidedRows({ roles, nearMisses }: ShownExplanation): PictureBox[][] {
  const held = roles.filter((role) => role.held);
  const [nearest] = nearMisses;
  const near =
    nearest === undefined
      ? box('assertion', 'none matches', 'missing')
      : box(
          `nearest assertion, differs in ${nearest.misses.join(' and ')}`,
          describeAssertion(nearest.assertion),
          'missing',
        );
  return [held.length === 0 ? [noRole(roles)] : held.map(({ role }) => box('role', role)), [near]];
}

/** Nothing, or the entry that names the principal and does not count. */
function noRole(roles: readonly ShownRole[]): PictureBox {
  const [named] = roles;
  const way = named?.paths.map(describePath).join(', ');
  return box('role', named === undefined ? 'none' : `none; not in ${named.role} (${way})`, 'missing');
}

function counts(path: ShownPath): boolean {
  return !('state' in path) || path.state === 'counts';
}

function wayBox(path: ShownPath): PictureBox {
  switch (path.kind) {
    case 'member':
      return box('member', path.entry);
    case 'group':
      return box('group', path.group);
    case 'assumed':
      return box('assumed from role', path.from);
    case 'delegated':
      return box(`trust in domain ${path.domain}`, `its role ${path.from} may assume it`);
  }
}

function shortened(row: readonly PictureBox[]): readonly PictureBox[] {
  if (row.length <= rowLength) return row;
  return [...row.slice(0, rowLength - 1), box('and', `${row.length - rowLength + 1} more`)];
}
