import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { mayDecide } from '@signet/server/management/requests/approvers';
import { rightsOf as rightsIn } from '@signet/server/management/rights';
import test from 'ava';
import { type DomainSketch, snapshotOf } from '#support/domains';

const films = parseDomainName('films');
const publisher = parseRoleName('publisher');
const now = 0;

/** The rights of a principal in `films`: its role there is `holders`. */
function rightsOf(name: string, sketch: DomainSketch, domains: Readonly<Record<string, DomainSketch>> = {}) {
  const snapshot = snapshotOf({ films: sketch, ...domains });
  const rights = rightsIn(snapshot, parsePrincipalName(name), now);
  const ofRole = { kind: 'role', domain: films, role: publisher, seconds: 60 } as const;
  const documents = { kind: 'documents', files: [], flags: [] } as const;
  return {
    approves: mayDecide(rights, { kind: 'documents', content: documents, domains: [films] }),
    'approves publisher': mayDecide(rights, { kind: 'role', content: ofRole, domains: [films] }),
    'breaks glass': rights.holds('break_glass', films),
    'applies reviewed': rights.holds('apply_reviewed', films),
  };
}

const nothing = { approves: false, 'approves publisher': false, 'breaks glass': false, 'applies reviewed': false };
const approver = { ...nothing, approves: true, 'approves publisher': true };

const given: readonly (readonly [rule: string, rights: Partial<typeof nothing>])[] = [
  ['allow approve_changes domain holders', approver],
  ['allow APPROVE_changes Domain hold*', approver],
  ['allow approve_changes role.publisher holders', { 'approves publisher': true }],
  ['allow approve_changes role.editor holders', {}],
  ['allow approve_changes role.* holders', {}],
  ['allow approve_changes * holders', {}],
  ['allow break_glass domain holders', { 'breaks glass': true }],
  ['allow break_glass d* holders', {}],
  ['allow apply_reviewed domain holders', { 'applies reviewed': true }],
  ['allow apply_reviewe? domain holders', {}],
  ['allow apply* domain holders', {}],
  ['allow break* domain holders', {}],
  ['allow approve* domain holders', {}],
  ['allow * * holders', {}],
  ['allow * domain holders', {}],
  ['allow manage_domain domain holders', {}],
];

for (const [rule, rights] of given) {
  test(`\`${rule}\` gives ${Object.keys(rights).join(', ') || 'nothing'}`, (t) => {
    const sketch = { roles: { holders: ['user.anna'], admin: ['user.jane'] }, rules: [rule] };
    t.deepEqual(rightsOf('user.anna', sketch), { ...nothing, ...rights });
    t.deepEqual(rightsOf('user.berta', sketch), nothing);
  });
}

for (const pattern of ['* *', 'approve_* domain', '* d*', 'break* *', 'apply_reviewed domain']) {
  test(`a DENY of \`${pattern}\` takes what it matches`, (t) => {
    const rules = ['approve_changes', 'break_glass', 'apply_reviewed'].map(
      (action) => `allow ${action} domain holders`,
    );
    const sketch = { roles: { holders: ['user.anna'] }, rules: [...rules, `deny ${pattern} holders`] };
    const rights = rightsOf('user.anna', sketch);
    const [action = ''] = pattern.split(' ');
    const denies = (name: string) => name.startsWith(action.replace('*', ''));
    t.is(rights.approves, !denies('approve_changes'));
    t.is(rights['breaks glass'], !denies('break_glass'));
    t.is(rights['applies reviewed'], !denies('apply_reviewed'));
  });
}

test('administrators approve, and neither break glass nor apply without approval', (t) => {
  const sketch = { roles: { admin: ['user.jane', { name: 'user.old', expires: -1 }] }, rules: ['allow * * admin'] };
  t.deepEqual(rightsOf('user.jane', sketch), approver);
  t.deepEqual(rightsOf('user.old', sketch), nothing, 'not after its membership');
});

test('system operators with `manage_domain` administer; the rights by name come from the domain alone', (t) => {
  const roles = { operators: ['user.olga'], others: ['user.otto'] };
  const rules = ['approve_changes', 'break_glass', 'apply_reviewed'].flatMap((action) => [
    `allow ${action} domain.films others`,
    `allow ${action} films:domain others`,
    `allow ${action} domain others`,
  ]);
  const system = { 'sys.auth': { roles, rules: ['allow manage_domain domain.films operators', ...rules] } };
  t.deepEqual(rightsOf('user.olga', {}, system), approver);
  t.deepEqual(rightsOf('user.otto', {}, system), nothing);
});
