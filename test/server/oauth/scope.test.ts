import { parseScope } from '@signet/server/oauth/scope';
import test from 'ava';
import fc from 'fast-check';

const cases: readonly (readonly [scope: string, parsed: object])[] = [
  ['catalog:domain', { kind: 'all-roles', domain: 'catalog' }],
  ['Catalog:DOMAIN', { kind: 'all-roles', domain: 'catalog' }],
  ['a.b.c:role.x.y', { kind: 'roles', domain: 'a.b.c', roles: new Set(['x.y']) }],
  ['a:role.x  a:role.y', { kind: 'roles', domain: 'a', roles: new Set(['x', 'y']) }],
  [' a:role.x ', { kind: 'roles', domain: 'a', roles: new Set(['x']) }],
  ['a:role.x a:domain', { kind: 'all-roles', domain: 'a' }],
  ['a:role.x openid a:service.s', { kind: 'roles', domain: 'a', roles: new Set(['x']), idTokenService: 's' }],
  ['openid openid a:service.s a:service.S a:domain', { kind: 'all-roles', domain: 'a', idTokenService: 's' }],
];

for (const [scope, parsed] of cases) {
  test(`reads ${JSON.stringify(scope)}`, (t) => t.deepEqual(parseScope(scope) as object, parsed));
}

const refused = [
  'a',
  'a:',
  ':role.x',
  'a:role',
  'a:role.',
  'a:role.x:y',
  'a:role.x*',
  'a:group.g',
  'a:service.x.y',
  'OPENID a:domain',
  'openid\ta:domain',
  'a:domain\n',
];

for (const scope of refused) {
  test(`refuses ${JSON.stringify(scope)}`, (t) => {
    t.throws(() => parseScope(scope), { name: 'InvalidScopeError', message: /^scope holds an item/ });
  });
}

const unusable: readonly (readonly [scope: string, message: string])[] = [
  ['', 'scope is empty'],
  ['   ', 'scope is empty'],
  ['openid', 'scope names no domain'],
  ['openid openid', 'scope names no domain'],
  ['a:role.x b:role.y', 'scope names more than one domain'],
  ['a:domain openid b:service.s', 'scope names more than one domain'],
  ['a:service.s openid a:service.t a:domain', 'scope names more than one service'],
  ['a:domain openid', '`openid` needs a scope `<domain>:service.<service>`'],
  ['a:domain a:service.s', 'a service scope needs `openid`'],
  ['a:service.s openid', 'scope asks for no role: an ID token is given only beside an access token'],
];
for (const [scope, message] of unusable) {
  test(`refuses ${JSON.stringify(scope)} as a whole`, (t) => {
    t.throws(() => parseScope(scope), { name: 'InvalidScopeError', message });
  });
}

test('so many items, and one more', (t) => {
  const roles = (count: number) => Array.from({ length: count }, (_, i) => `a:role.r${i}`).join(' ');
  t.is(parseScope(roles(256)).kind, 'roles');
  const message = 'scope has more than 256 items';
  t.throws(() => parseScope(roles(257)), { name: 'InvalidScopeError', message });
});

test('whatever is sent is a scope or refused, and nothing else comes out than was put in', (t) => {
  const words = fc.array(
    fc.oneof(
      fc.string(),
      fc.stringMatching(/^[a-zA-Z.:*-]{1,12}$/),
      fc.constantFrom('a:domain', 'a:role.x', 'openid', 'a:service.s'),
    ),
  );
  fc.assert(
    fc.property(words, (list) => {
      const text = list.join(' ');
      try {
        const scope = parseScope(text);
        if (scope.kind === 'roles') {
          for (const role of scope.roles) t.true(text.toLowerCase().includes(`${scope.domain}:role.${role}`));
        }
      } catch (error) {
        t.is(error instanceof Error && error.name, 'InvalidScopeError');
      }
    }),
  );
  t.pass();
});
