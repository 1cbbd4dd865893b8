import type { AssertionInput } from '@signet/policy-engine/policy';
import test from 'ava';
import { decidesAsReference } from '../decides-as-reference.ts';

/* Domain of a resource, checked before anything else, whichever way a policy is looked up. */

const count = (length: number, make: (index: number) => AssertionInput): AssertionInput[] =>
  Array.from({ length }, (_, index) => make(index));

const allow = (role: string, action: string, resource: string): AssertionInput => ({
  effect: 'ALLOW',
  role,
  action,
  resource,
});

/** Up to twelve are looked at one by one, more by their resources. */
const layouts: readonly [name: string, assertions: AssertionInput[]][] = [
  ['none', []],
  ['one name', [allow('r1', 'read', 'shop:item.1')]],
  ['names', count(12, (n) => allow(`r${n}`, 'read', `shop:item.${n}`))],
  ['names of one role', count(12, (n) => allow('r1', 'read', `shop:item.${n}`))],
  ['names under prefixes of actions', count(12, (n) => allow('r1', `op.${n}.*`, `shop:item.${n}`))],
  ['prefixes', count(12, (n) => allow(`r${n}`, 'read', `shop:item.${n}*`))],
  ['everything', [allow('r1', '*', 'shop:*')]],
  ['many names', count(13, (n) => allow(`r${n}`, 'read', `shop:item.${n}`))],
  ['many names under prefixes of actions', count(13, (n) => allow('r1', `op.${n}.*`, `shop:item.${n}`))],
  ['many prefixes', count(13, (n) => allow(`r${n}`, 'read', `shop:item.${n}*`))],
  ['many globs', count(13, (n) => allow(`r${n}`, 'read', `shop:*.item.${n}`))],
];

const resources = [
  ...['shop:item.1', 'SHOP:item.1', 'Shop:Item.1', 'shop:item.14', 'shop:none'],
  ...['show:item.1', 'SHOW:item.1', 'shops:item.1', 'sho:item.1', 'shop.a:item.1', 'a.shop:item.1'],
  // Same length as a name but for a multiple of 32.
  ...[32, 64].flatMap((more) => [`shop:item.1${'x'.repeat(more)}`, `show:item.1${'1'.repeat(more)}`]),
  ...['shop', 'shop:', ':item.1', 'shop;item.1', 'item.1', 'shop:item.1:shop:', 'x', '\u{1F600}', 'sh\u{F6}p:item.1'],
];

for (const [name, assertions] of layouts) {
  test(`whose a resource is: ${name}`, (t) => {
    const domains = { shop: [{ name: 'p', assertions }] };
    const requests = resources.flatMap((resource) =>
      [['r1'], ['other'], ['r1', 'other']].flatMap((roles) =>
        ['read', 'Read', 'op.1.x', 'none'].map((action) => ({ domain: 'shop', roles, action, resource })),
      ),
    );
    decidesAsReference(t, domains, requests);
    // Strings as they come from a service: concatenated for each request.
    const joined = requests.map((asked) => ({ ...asked, resource: [...asked.resource].join('') }));
    decidesAsReference(t, domains, joined);
  });
}
