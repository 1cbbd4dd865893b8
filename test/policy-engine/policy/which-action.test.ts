import type { AssertionInput } from '@signet/policy-engine/policy';
import test from 'ava';
import { decidesAsReference } from '../decides-as-reference.ts';

/* Actions of an assertion, independent of the others in a small policy: the look-up of an action depends on all of them. */

const of = (...actions: string[]): AssertionInput[] =>
  actions.map((action, index) => ({
    effect: index % 3 === 2 ? 'DENY' : 'ALLOW',
    role: 'r1',
    action,
    resource: `shop:item.${index % 2}`,
  }));

const layouts: readonly [name: string, assertions: AssertionInput[]][] = [
  ['names', of('read', 'reader', 'r', 'Read', 'list')],
  ['one prefix', of('read.*')],
  ['prefixes of one length', of('read.*', 'list.*', 'rest.*', 'READ.*')],
  ['prefixes of several lengths', of('r*', 'read*', 'read.all.*', 're*')],
  ['names and prefixes', of('read', 'r', 'read.all', 'read.*', 'list', 'li', 'list.*')],
  ['names that are shorter than every prefix', of('r', 'read', 'read.all.items.*')],
  ['names, prefixes, globs and everything', of('read', 'list.*', '*.all', 'l?st', '*', 'r*d', 're*')],
  ['a prefix as long as can be', of(`${'a'.repeat(255)}*`, 'a'.repeat(256), 'a')],
];

const actions = [
  ...['r', 're', 'rea', 'read', 'read.', 'read.a', 'read.all', 'read.all.', 'read.all.items', 'read.all.items.x'],
  ...['R', 'READ', 'rEAD.', 'Read.All.Items.X', 'reader', 'rest.', 'rest.x', 'l', 'li', 'list', 'lost', 'list.x'],
  ...['x', '.', '*', 'r*', '@ead', 'bead', 'read\u{E9}', '\u{1F600}', 'x.all', 'reed', 'raid'],
  ...[254, 255, 256].map((length) => 'a'.repeat(length)),
];

for (const [name, assertions] of layouts) {
  test(`which action an assertion is for: ${name}`, (t) => {
    const requests = actions.flatMap((action) =>
      [['r1'], ['other'], ['r1', 'other']].flatMap((roles) =>
        ['shop:item.0', 'shop:item.1', 'show:item.0'].map((resource) => ({ domain: 'shop', roles, action, resource })),
      ),
    );
    decidesAsReference(t, { shop: [{ name: 'p', assertions }] }, requests);
  });
}
