import type { DecidingAssertion } from '@signet/policy-engine/policy';
import { describeChange } from '@signet/server/management/describe-explanation';
import { type Answered, ask } from './ask.ts';
import { type Edit, editDocuments } from './edit-documents.ts';
import { readDocuments } from './read-documents.ts';
import type { PlaygroundState } from './state.ts';

/** The smallest change after which the same question has the other answer. */
export interface Flip {
  /** What is to be done, a line for each part. */
  readonly steps: readonly string[];
  /** The documents with it; absent where it cannot be made in them. */
  readonly documents?: string;
}

/** What would turn the answer over; undefined where nothing is known to. */
export function flipOf(state: PlaygroundState, answered: Answered, now: number): Flip | undefined {
  const { explained, domain } = answered;
  const ways = explained.granted ? revocations(answered) : [explained.changes];
  let told: Flip | undefined;
  for (const edits of ways.filter(({ length }) => length > 0)) {
    told = { steps: edits.map(describeEdit) };
    const documents = editDocuments(state.documents, edits, { principal: explained.principal, domain });
    if (documents !== undefined && turnsOver({ ...state, documents }, explained.granted, now)) {
      return { ...told, documents };
    }
  }
  return told;
}

/** It is tried, and not believed: other ways into a role may keep the answer as it is. */
function turnsOver(state: PlaygroundState, wasGranted: boolean, now: number): boolean {
  const read = readDocuments(state.documents, '', now);
  if (read.kind === 'bad') return false;
  const asked = ask(read.snapshot, read.domain, state.question, now);
  return asked.kind === 'ok' && asked.explained.granted !== wasGranted;
}

/** Changes that may end an access, the one that concerns the fewest first; the last one, a DENY, always does. */
function revocations({ explained, action, resource, domain }: Answered): (readonly Edit[])[] {
  const { principal, decidedBy, roles } = explained;
  if (decidedBy === undefined) return [];
  const { heldRole } = decidedBy;
  const paths = roles.find(({ role }) => role === heldRole)?.paths ?? [];
  const removals = paths.flatMap((path): (readonly Edit[])[] => {
    if (path.kind === 'member' && path.entry === principal) {
      return [[{ kind: 'remove-member', domain, list: 'roles', name: heldRole, member: principal }]];
    }
    if (path.kind !== 'group') return [];
    const [owner = '', name = ''] = path.group.split(':group.');
    return [[{ kind: 'remove-member', domain: owner, list: 'groups', name, member: principal }]];
  });
  const assertion: DecidingAssertion = { effect: 'DENY', role: `${domain}:role.${heldRole}`, action, resource };
  return [...removals, [{ kind: 'add-assertion', domain, assertion }]];
}

function describeEdit(edit: Edit): string {
  if (edit.kind !== 'remove-member') return describeChange(edit);
  return `removing ${edit.member} from ${edit.list === 'roles' ? 'role' : 'group'} ${edit.name} of ${edit.domain}`;
}
