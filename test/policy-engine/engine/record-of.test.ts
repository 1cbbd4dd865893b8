import test from 'ava';
import { internals } from '../../limits/row.ts';

/* Record of a decision, with each member present and missing. */

const { recordOf } = await internals<{
  recordOf(decision: object, asked: object, holder: object | undefined, at: number): object;
}>('policy-engine/src/engine/record-of.ts');

const asked = { action: 'read', resource: 'd:x', token: 'secret' };
const least = { at: 7, status: 'DENY', action: 'read', resource: 'd:x' };
const revision = { epoch: 0, version: 1 };
const assertion = { effect: 'ALLOW', role: 'r', action: 'read', resource: 'x' };
const holder = { domain: 'd', roles: ['r'] };
const records: [note: string, decision: object, holder: object | undefined, more: object][] = [
  ['a refusal', {}, undefined, {}],
  ['a domain and roles', {}, holder, holder],
  ['a subject', {}, { ...holder, subject: 's.s' }, { ...holder, subject: 's.s' }],
  ['a token', {}, { ...holder, tokenId: 't' }, { ...holder, tokenId: 't' }],
  ['a token without an id', {}, { ...holder, tokenId: undefined }, holder],
  ['a policy and its assertion', { policy: 'p', assertion }, undefined, { policy: 'p', assertion }],
  ['a revision', { revision }, undefined, { revision }],
];
for (const [note, decision, who, more] of records) {
  test(`a record of ${note}`, (t) => {
    t.deepEqual<unknown, unknown>(recordOf({ status: 'DENY', ...decision }, asked, who, 7), { ...least, ...more });
  });
}
