import { PolicyEngineError, statuses, statusRemedy } from '@signet/policy-engine';
import { protect as protectExpress } from '@signet/policy-engine/express';
import { protect as protectFastify } from '@signet/policy-engine/fastify';
import { protect as protectFetch } from '@signet/policy-engine/fetch';
import { authorize, protectUpgrade, type Refusal } from '@signet/policy-engine/http';
import { protect as protectKoa } from '@signet/policy-engine/koa';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { decider } from '#support/decider';

const rule = { action: 'read', resource: 'catalog:movie' };
const good = { engine: decider(), rule };

const makers: Readonly<Record<string, (options: never) => unknown>> = {
  Express: protectExpress,
  Fastify: protectFastify,
  Koa: protectKoa,
  'an upgrade': protectUpgrade,
};

const wrong: readonly (readonly [what: string, options: object, message: string])[] = [
  [
    'a mistyped option',
    { ...good, tokenHeader: ['x'] },
    '`tokenHeader` is not an option of protect: did you mean `tokenHeaders`?',
  ],
  ['no engine', { rule }, '`engine` must be an engine returned by `PolicyEngine.open`'],
  [
    'a promise of an engine',
    { ...good, engine: Promise.resolve() },
    '`engine` must be an engine returned by `PolicyEngine.open`',
  ],
  ['no header', { ...good, tokenHeaders: [] }, '`tokenHeaders` must be an array of at least one name of a header'],
  [
    'a header with a blank',
    { ...good, tokenHeaders: ['x y'] },
    '`tokenHeaders` must be an array of at least one name of a header',
  ],
  ['a number for a switch', { ...good, rfc6750: 1 }, '`rfc6750` must be true or false'],
  ['a text for a switch', { ...good, caseSensitive: 'no' }, '`caseSensitive` must be true or false'],
  ['a certificate that is no function', { ...good, certificate: 'pem' }, '`certificate` must be a function'],
  ['a listener that is no function', { ...good, onRefusal: {} }, '`onRefusal` must be a function'],
  [
    'proxies of another form',
    { ...good, proxies: ['127.0.0.1'] },
    '`proxies` must be { thumbprints?: string[], addresses?: string[] }',
  ],
  [
    'a proxy list that is mistyped',
    { ...good, proxies: { address: ['127.0.0.1'] } },
    '`proxies` must be { thumbprints?: string[], addresses?: string[] }',
  ],
  [
    'a rule without an action',
    { ...good, rule: { resource: 'catalog:movie' } },
    '`rule.action` must be a string that is not empty',
  ],
  [
    'a rule without a resource',
    { ...good, rule: { action: 'read', resource: '' } },
    '`rule.resource` must be a string that is not empty',
  ],
  [
    'a pattern for a resource',
    { ...good, rule: { action: 'read', resource: 'catalog:*' } },
    '`rule.resource` must name one resource: patterns such as `catalog:*` stand in policy',
  ],
  [
    'an action that is too long',
    { ...good, rule: { action: 'a'.repeat(257), resource: 'catalog:movie' } },
    '`rule.action` must have at most 256 characters',
  ],
  [
    'a resource that is too long',
    { ...good, rule: { action: 'read', resource: 'r'.repeat(4097) } },
    '`rule.resource` must have at most 4096 characters',
  ],
];

const fails = (t: ExecutionContext, make: () => unknown, message: string) => {
  const error = t.throws(make, { instanceOf: PolicyEngineError });
  t.is(error?.code, 'invalid-options');
  t.is(error?.message, message);
};

for (const [name, make] of Object.entries(makers)) {
  test(`${name}: options are refused when it is built, by name`, (t) => {
    for (const [, options, message] of wrong) fails(t, () => make(options as never), message);
    t.notThrows(() => make({ ...good, rule: { action: 'a'.repeat(256), resource: `c:${'r'.repeat(4094)}` } } as never));
  });
}

test('a fetch handler needs to know the connection', (t) => {
  const handler = () => new Response();
  fails(
    t,
    () => protectFetch(handler, good as never),
    '`peer` must be a function: a Fetch request has no information about its connection',
  );
  t.notThrows(() => protectFetch(handler, { ...good, peer: () => ({}) }));
});

test('routes share what reads the certificate of a connection, and with it the authorities', async (t) => {
  const { ca } = await createTestAuthority();
  for (const make of [protectExpress, protectFastify, protectKoa]) {
    let asked = 0;
    const authorities = () => {
      asked += 1;
      return ca.pem;
    };
    const routes = make({ engine: decider(), authorities });
    for (const action of ['read', 'write']) routes.for(action, 'catalog:movie');
    t.is(asked, 1);
  }
});

test('routes share their options, which are checked at once; each route when it is made', (t) => {
  for (const make of [protectExpress, protectFastify, protectKoa]) {
    const routes = make({ engine: decider() });
    t.is(typeof routes.for('read', 'catalog:movie'), 'function');
    fails(
      t,
      () => routes.for('read', 'catalog:*'),
      '`rule.resource` must name one resource: patterns such as `catalog:*` stand in policy',
    );
    t.throws(() => routes.for('read', 'movie'), { message: /`domains` is required/ });
    t.throws(() => make({ engine: decider(), tokenHeader: [] } as never), { message: /did you mean `tokenHeaders`/ });
    t.throws(() => make({ engine: decider(), authorities: 'CN=Root' }), { code: 'invalid-options' });
  }
});

const request = (path: string, headers: Readonly<Record<string, readonly string[]>> = {}, method = 'GET') => ({
  method,
  target: path,
  header: (name: string) => headers[name] ?? [],
  peer: {},
});

const refusals: readonly (readonly [what: string, ask: ReturnType<typeof request>, status: number, text: string])[] = [
  [
    'no token',
    request('/movie?secret=1'),
    403,
    '"GET /movie": 403 a token is required; the caller must send its token in one of the headers `svc-role-auth`, `athenz-role-auth`, `authorization`',
  ],
  [
    'two tokens',
    request('/movie', { authorization: ['Bearer a'], 'svc-role-auth': ['b'] }),
    403,
    '"GET /movie": 403 more than one token was sent; the caller must send one token in one header',
  ],
  [
    'no assertion',
    request('/movie', { authorization: ['Bearer reader'] }, 'PUT'),
    403,
    `"PUT /movie" ("write" on "catalog:movie"): 403 DENY_NO_MATCH; ${statusRemedy('DENY_NO_MATCH')}`,
  ],
  [
    'an unknown endpoint',
    request('/other', { authorization: ['Bearer reader'] }),
    404,
    '"GET /other": 404 unknown endpoint; the rule has no answer for it: cover it in the rule, or leave `protect` out in front of it',
  ],
  [
    'a path with a line feed',
    request('/mo\nvie//', {}),
    400,
    '"GET /mo\\nvie//": 400 path is not in canonical form; the path could be read in another way by the router: callers must send its canonical form',
  ],
  [
    'a path with what ends a line or commands a terminal elsewhere',
    request('/\u0085\u009b\u2028\u202e\u{e0001}', {}),
    400,
    '"GET /\\u0085\\u009b\\u2028\\u202e\\udb40\\udc01": 400 path is not in canonical form; the path could be read in another way by the router: callers must send its canonical form',
  ],
  [
    'a resource with what commands a terminal',
    request('/of/%C2%9B31m', { authorization: ['Bearer reader'] }),
    403,
    `"GET /of/%C2%9B31m" ("read" on "catalog:\\u009b31m"): 403 DENY_NO_MATCH; ${statusRemedy('DENY_NO_MATCH')}`,
  ],
];

const byMethod = ({ method, path }: { readonly method: string; readonly path: string }) => {
  const entity = path === '/movie' ? 'movie' : /^\/of\/(.*)$/.exec(path)?.[1];
  return entity === undefined
    ? undefined
    : { action: method === 'GET' ? 'read' : 'write', resource: `catalog:${entity}` };
};

for (const [what, ask, status, text] of refusals) {
  test(`whoever develops the service is told what to do: ${what}`, async (t) => {
    const told: Refusal[] = [];
    const options = { engine: decider(), domains: ['catalog'], rule: byMethod };
    const outcome = await authorize(ask, { ...options, onRefusal: (refusal) => void told.push(refusal) });
    t.is(outcome.kind === 'refused' ? outcome.status : 200, status);
    t.deepEqual(
      told.map((one) => [one.status, one.text]),
      [[status, text]],
    );
    t.notRegex(JSON.stringify([told, outcome]), /secret=1|Bearer [ab]\b/);
    t.false(JSON.stringify(outcome).includes(told[0]?.hint ?? ''), 'the caller is told less');
    const deaf = await authorize(ask, {
      ...options,
      onRefusal: () => {
        throw new Error('a listener has no say');
      },
    });
    t.deepEqual(deaf, outcome);
  });
}

test('nobody is told of what is allowed', async (t) => {
  const told: Refusal[] = [];
  const ask = request('/movie', { authorization: ['Bearer reader'] });
  const outcome = await authorize(ask, { ...good, onRefusal: (refusal) => void told.push(refusal) });
  t.is(outcome.kind, 'allowed');
  t.deepEqual(told, []);
});

test('headers of tokens may be written with capitals', async (t) => {
  const middleware = protectKoa({ ...good, tokenHeaders: ['X-Role-Token'] });
  const state: Record<string, unknown> = {};
  const context = {
    req: { method: 'GET', url: '/movie', rawHeaders: ['x-role-token', 'reader'], socket: {} },
    state,
    status: 404,
    body: undefined,
    set: () => undefined,
    vary: (names: string) => t.is(names, 'x-role-token'),
  };
  await middleware(context, async () => undefined);
  t.truthy(state['signet']);
});

test('every status has a remedy', (t) => {
  for (const status of statuses) t.regex(statusRemedy(status), /^[a-z].+[^.]$/);
});
