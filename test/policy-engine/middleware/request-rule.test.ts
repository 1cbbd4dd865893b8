import {
  RequestRule,
  type RequiredAccess,
  type RuleOptions,
  type RuleOutcome,
  type SeenRequest,
} from '@signet/policy-engine/http';
import test from 'ava';

/* Evaluation of a rule: which readings of a path must agree, and which domains must be stated. */

const asked = (resource: string, action = 'read'): RequiredAccess => ({ action, resource });
const byPath = ({ path }: { path: string }) => (path === '/none' ? undefined : asked(`catalog:${path}`));
const get = (target: string, more: Partial<SeenRequest> = {}): SeenRequest => ({ method: 'GET', target, ...more });

function read(rule: RuleOptions['rule'], request: SeenRequest, more: Partial<RuleOptions> = {}): string {
  const outcome: RuleOutcome = new RequestRule({ rule, domains: ['catalog'], ...more }).read(request);
  if (outcome.kind === 'asked') return outcome.asked.resource;
  return outcome.kind === 'denied' ? outcome.status : outcome.message;
}

const canonical = 'path is not in canonical form';
const several = 'path is ambiguous';
const readings: [note: string, request: SeenRequest, answer: string, more?: Partial<RuleOptions>][] = [
  ['a path', get('/a'), 'catalog:/a'],
  ['a path that no rule covers', get('/none'), 'unknown endpoint'],
  ['a path that is not canonical', get('//a'), canonical],
  ['capitals that policy does not tell apart', get('/A'), 'catalog:/A'],
  ['what stands behind a semicolon', get('/a;b'), several],
  ['a semicolon behind a slash', get('/a/;b'), several],
  ['a path that is routed as another', get('/a', { routedTarget: '/b' }), several],
  ['a path that is routed as the same in other words', get('/@', { routedTarget: '/%40/' }), 'catalog:/@'],
  ['a path that is routed as what is not canonical', get('/a', { routedTarget: '//a' }), several],
  ['a path that is routed as one that no rule covers', get('/a', { routedTarget: '/none' }), several],
  ['a route that may take nothing behind a slash', get('/a/?b', { route: '/a/:id' }), several],
  ['a slash that no parameter stands behind', get('/a/', { route: '/:id' }), 'catalog:/a'],
  ['a parameter that is left out with its slash', get('/a?b/', { route: '/a/:id?' }), 'catalog:/a'],
  ['a path that only the router covers', get('/none', { routedTarget: '/a' }), several],
];
for (const [note, request, answer, more] of readings) {
  test(`rule: ${note}`, (t) => t.is(read(byPath, request, more), answer));
}

test('readings differ by the action too, and by capitals where the rule tells them apart', (t) => {
  const byAction = ({ path }: { path: string }) => asked('catalog:a', path === '/A' ? 'write' : 'read');
  t.is(read(byAction, get('/A')), several);
  t.is(read(byAction, get('/A'), { caseSensitive: true }), 'catalog:a');
  t.is(
    read(({ path }) => asked('catalog:a', path === '/A' ? 'READ' : 'read'), get('/A')),
    'catalog:a',
  );
  const upper = ({ path }: { path: string }) => (path === '/A' ? asked('catalog:a') : undefined);
  t.is(read(upper, get('/A')), several);
  t.is(read(upper, get('/A'), { caseSensitive: true }), 'catalog:a');
});

test('both a semicolon and capitals are looked at together', (t) => {
  const hidden = ({ path }: { path: string }) => asked(path === '/admin' ? 'catalog:admin' : 'catalog:open');
  t.is(read(hidden, get('/ADMIN;x')), several);
  t.is(read(hidden, get('/admin/;x')), several);
  t.is(read(hidden, get('/other/;x')), 'catalog:open');
  t.is(
    read(({ path }) => asked(path === '/' ? 'catalog:root' : 'catalog:open'), get('/;x')),
    several,
  );
});

test('one resource for all needs no second reading, and the rule gets the route when it is known', (t) => {
  t.is(read(asked('catalog:a'), get('/A;b', { routedTarget: '/b' })), 'catalog:a');
  const seen: unknown[] = [];
  const rule = (input: unknown) => {
    seen.push(input);
    return asked('catalog:a');
  };
  read(rule, get('/a'));
  read(rule, get('/a', { route: '/:x' }));
  t.deepEqual(seen, [
    { method: 'GET', path: '/a' },
    { method: 'GET', path: '/a', route: '/:x' },
  ]);
});

const complete: [note: string, options: RuleOptions, engine: readonly string[] | undefined, isTold: boolean][] = [
  ['a function and nothing', { rule: byPath }, undefined, false],
  ['a function and the domains of the engine', { rule: byPath }, ['catalog'], true],
  ['a function and domains', { rule: byPath, domains: ['catalog'] }, undefined, true],
  ['a whole resource', { rule: asked('catalog:a') }, undefined, true],
  ['a resource without a domain', { rule: asked('a') }, undefined, false],
  ['a resource without a domain, with one domain', { rule: asked('a'), domains: ['catalog'] }, undefined, true],
  [
    'a resource without a domain, with two domains',
    { rule: asked('a'), domains: ['catalog', 'media'] },
    undefined,
    false,
  ],
  ['a resource of another domain', { rule: asked('evil:a'), domains: ['catalog'] }, undefined, false],
  ['null', { rule: null as never }, undefined, false],
  ['a string', { rule: 'catalog:a' as never }, undefined, false],
  ['no action', { rule: { resource: 'catalog:a' } as never }, undefined, false],
  ['an action that is a number', { rule: { action: 7, resource: 'catalog:a' } as never }, undefined, false],
  ['no resource', { rule: { action: 'read' } as never }, ['catalog'], false],
];
for (const [note, options, engine, isTold] of complete) {
  test(`domains are told by ${note}: ${isTold}`, (t) => {
    const rule = new RequestRule(options, engine);
    if (isTold) t.is(rule.requireDomains(), rule);
    else t.throws(() => rule.requireDomains(), { message: /^`domains` is required/ });
  });
}

test('domains must be among those of the engine', (t) => {
  const make = (domains: string[] | undefined, engine: string[] | undefined) => () =>
    new RequestRule({ rule: byPath, ...(domains && { domains }) }, engine);
  t.notThrows(make(['catalog'], ['catalog', 'media']));
  t.notThrows(make(undefined, ['catalog', 'media']));
  t.notThrows(make(['catalog'], undefined));
  t.throws(make(['catalog', 'media'], ['catalog']), { message: /^`domains` must be among/ });
});

test('a resource of a domain that is not served is denied, one without a domain is of the only one', (t) => {
  t.is(read(asked('evil:a'), get('/a')), 'DENY_DOMAIN_MISMATCH');
  t.is(read(asked('a'), get('/a')), 'catalog:a');
  t.is(read(asked('a'), get('/a'), { domains: ['catalog', 'media'] }), 'DENY_INVALID_PARAMETERS');
});
