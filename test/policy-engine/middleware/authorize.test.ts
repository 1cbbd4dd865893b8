import {
  authorize,
  type Decider,
  type ProtectedRequest,
  type ProtectOptions,
  type Refusal,
} from '@signet/policy-engine/http';
import { type Decision, type Status, statusRemedy } from '@signet/policy-engine/policy';
import test from 'ava';

/** An engine that gives one answer and remembers what it was asked. */
function engineThat(status: Status): Decider & { asked: unknown[] } {
  const asked: unknown[] = [];
  return {
    asked,
    decide: async (request) => {
      asked.push(request);
      return { status } satisfies Pick<Decision, 'status'> as Decision;
    },
  };
}

const rule: ProtectOptions['rule'] = ({ method, path }) =>
  path === '/movie' ? { action: method === 'GET' ? 'read' : 'write', resource: `catalog:${path.slice(1)}` } : undefined;

function request(headers: Record<string, string[]>, over: Partial<ProtectedRequest> = {}): ProtectedRequest {
  return { method: 'GET', target: '/movie', header: (name) => headers[name] ?? [], peer: {}, ...over };
}

const certificate = { raw: new Uint8Array([1, 2, 3]) };

test('an allowed request passes with its decision, and the engine is asked once with the connection certificate', async (t) => {
  const engine = engineThat('ALLOW');
  const outcome = await authorize(request({ authorization: ['Bearer abc'] }, { peer: { certificate } }), {
    engine,
    rule,
  });
  t.like(outcome, { kind: 'allowed', decision: { status: 'ALLOW' } });
  t.deepEqual(engine.asked, [{ token: 'abc', action: 'read', resource: 'catalog:movie', certificate }]);
});

for (const [note, over, vary] of [
  ['', {}, 'svc-role-auth, athenz-role-auth, authorization'],
  [' of one header', { tokenHeaders: ['x-token'] }, 'x-token'],
  [
    ' behind proxies',
    { proxies: { addresses: ['10.0.0.1'] } },
    'svc-role-auth, athenz-role-auth, authorization, client-cert',
  ],
] as const) {
  test(`an allowed request${note} says what its answer varies with`, async (t) => {
    const headers = { 'x-token': ['abc'], authorization: ['abc'] };
    const outcome = await authorize(request(headers), { engine: engineThat('ALLOW'), rule, ...over });
    t.like(outcome, { kind: 'allowed', headers: { 'Cache-Control': 'no-store', Vary: vary } });
  });
}

const refusals: {
  note: string;
  status?: Status;
  headers: Record<string, string[]>;
  over?: Partial<ProtectedRequest>;
  options?: Partial<ProtectOptions>;
  expect: { status: number; challenge?: string; message: string };
  asked: number;
}[] = [
  {
    note: 'no token',
    headers: {},
    expect: { status: 403, challenge: 'Bearer', message: 'a token is required' },
    asked: 0,
  },
  {
    note: 'no token, RFC 6750',
    headers: {},
    options: { rfc6750: true },
    expect: { status: 401, challenge: 'Bearer', message: 'a token is required' },
    asked: 0,
  },
  {
    note: 'a token in the query',
    headers: {},
    over: { target: '/movie?access_token=abc' },
    expect: { status: 403, challenge: 'Bearer', message: 'a token is required' },
    asked: 0,
  },
  {
    note: 'credentials of another scheme, RFC 6750',
    headers: { authorization: ['Basic YTpi'] },
    options: { rfc6750: true },
    expect: { status: 401, challenge: 'Bearer', message: 'a token is required' },
    asked: 0,
  },
  {
    note: 'a scheme without a token',
    headers: { authorization: ['Bearer'] },
    expect: { status: 403, challenge: 'Bearer', message: 'a token is required' },
    asked: 0,
  },
  {
    note: 'credentials of another scheme beside a token',
    headers: { authorization: ['Basic YTpi'], 'svc-role-auth': ['abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="invalid_request", error_description="more than one token was sent"',
      message: 'more than one token was sent',
    },
    asked: 0,
  },
  {
    note: 'unknown endpoint',
    headers: { authorization: ['Bearer abc'] },
    over: { target: '/other' },
    expect: { status: 404, message: 'unknown endpoint' },
    asked: 0,
  },
  {
    note: 'a path with two readings',
    headers: { authorization: ['Bearer abc'] },
    over: { target: '//movie' },
    expect: { status: 400, message: 'path is not in canonical form' },
    asked: 0,
  },
  {
    note: 'two tokens',
    headers: { authorization: ['Bearer abc'], 'svc-role-auth': ['def'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="invalid_request", error_description="more than one token was sent"',
      message: 'more than one token was sent',
    },
    asked: 0,
  },
  {
    note: 'two tokens, RFC 6750',
    headers: { authorization: ['Bearer abc', 'Bearer def'] },
    options: { rfc6750: true },
    expect: {
      status: 400,
      challenge: 'Bearer error="invalid_request", error_description="more than one token was sent"',
      message: 'more than one token was sent',
    },
    asked: 0,
  },
  {
    note: 'an invalid token',
    status: 'DENY_TOKEN_INVALID',
    headers: { authorization: ['Bearer abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="invalid_token", error_description="the token is not valid here"',
      message: 'the token is not valid here',
    },
    asked: 1,
  },
  {
    note: 'an expired token, RFC 6750',
    status: 'DENY_TOKEN_EXPIRED',
    headers: { authorization: ['Bearer abc'] },
    options: { rfc6750: true },
    expect: {
      status: 401,
      challenge: 'Bearer error="invalid_token", error_description="the token is not valid here"',
      message: 'the token is not valid here',
    },
    asked: 1,
  },
  {
    note: 'a token of another certificate, RFC 6750',
    status: 'DENY_CERT_HASH_MISMATCH',
    headers: { authorization: ['Bearer abc'] },
    over: { peer: { certificate: 'another one' } },
    options: { rfc6750: true },
    expect: {
      status: 401,
      challenge: 'Bearer error="invalid_token", error_description="the token is not valid here"',
      message: 'the token is not valid here',
    },
    asked: 1,
  },
  {
    note: 'no certificate',
    status: 'DENY_CERT_HASH_MISMATCH',
    headers: { authorization: ['Bearer abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="invalid_token", error_description="the request came without a client certificate"',
      message: 'the request came without a client certificate',
    },
    asked: 1,
  },
  {
    note: 'a certificate that is not valid',
    status: 'DENY_CERT_HASH_MISMATCH',
    headers: { authorization: ['Bearer abc'] },
    over: { peer: { certificateRefused: true } },
    expect: {
      status: 403,
      challenge:
        'Bearer error="invalid_token", error_description="the client certificate of the request is not valid here"',
      message: 'the client certificate of the request is not valid here',
    },
    asked: 1,
  },
  {
    note: 'another reason, and no certificate',
    status: 'DENY_TOKEN_EXPIRED',
    headers: { authorization: ['Bearer abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="invalid_token", error_description="the token is not valid here"',
      message: 'the token is not valid here',
    },
    asked: 1,
  },
  {
    note: 'not granted',
    status: 'DENY_NO_MATCH',
    headers: { authorization: ['Bearer abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="insufficient_scope", error_description="access is not granted"',
      message: 'access is not granted',
    },
    asked: 1,
  },
  {
    note: 'denied, RFC 6750',
    status: 'DENY',
    headers: { authorization: ['Bearer abc'] },
    options: { rfc6750: true },
    expect: {
      status: 403,
      challenge: 'Bearer error="insufficient_scope", error_description="access is not granted"',
      message: 'access is not granted',
    },
    asked: 1,
  },
  {
    note: 'a stale domain',
    status: 'DENY_DOMAIN_EXPIRED',
    headers: { authorization: ['Bearer abc'] },
    expect: {
      status: 403,
      challenge: 'Bearer error="insufficient_scope", error_description="access is not granted"',
      message: 'access is not granted',
    },
    asked: 1,
  },
];

for (const { note, status, headers, over, options, expect, asked } of refusals) {
  test(`refused: ${note}`, async (t) => {
    const engine = engineThat(status ?? 'ALLOW');
    const outcome = await authorize(request(headers, over), { engine, rule, ...options });
    t.is(outcome.kind, 'refused');
    if (outcome.kind !== 'refused') return;
    t.deepEqual(
      { status: outcome.status, headers: outcome.headers, body: outcome.body },
      {
        status: expect.status,
        headers: {
          'Cache-Control': 'no-store',
          Vary: 'svc-role-auth, athenz-role-auth, authorization',
          ...(expect.challenge !== undefined && { 'WWW-Authenticate': expect.challenge }),
        },
        body: { code: expect.status, message: expect.message },
      },
    );
    t.is(engine.asked.length, asked);
  });
}

test('the same token in all headers is one token, and a second one in any of them is refused', async (t) => {
  const engine = engineThat('ALLOW');
  const headers = { authorization: ['bearer  abc'], 'svc-role-auth': ['abc'], 'athenz-role-auth': ['abc'] };
  t.is((await authorize(request(headers), { engine, rule })).kind, 'allowed');
  t.is((await authorize(request({ 'athenz-role-auth': ['abc'] }), { engine, rule })).kind, 'allowed');
  t.is((await authorize(request({ ...headers, 'athenz-role-auth': ['def'] }), { engine, rule })).kind, 'refused');
});

const proxies = { addresses: ['127.0.0.1'] };
const forwarded = ':AQID:';
const proxyCases: { note: string; peer: ProtectedRequest['peer']; header: string[]; expect: unknown }[] = [
  {
    note: 'a trusted proxy passes the certificate on',
    peer: { address: '127.0.0.1' },
    header: [forwarded],
    expect: new Uint8Array([1, 2, 3]),
  },
  {
    note: 'a trusted proxy without a header passes none',
    peer: { address: '127.0.0.1' },
    header: [],
    expect: undefined,
  },
  {
    note: 'the header of anybody else is ignored',
    peer: { address: '127.0.0.2' },
    header: [forwarded],
    expect: undefined,
  },
  {
    note: 'a socket for both families names the same proxy otherwise',
    peer: { address: '::ffff:127.0.0.1' },
    header: [forwarded],
    expect: new Uint8Array([1, 2, 3]),
  },
  {
    note: 'of anybody else as well',
    peer: { address: '::ffff:127.0.0.2' },
    header: [forwarded],
    expect: undefined,
  },
  {
    note: 'what is no address is not that of a proxy',
    peer: { address: '127.0.0.1.' },
    header: [forwarded],
    expect: undefined,
  },
  {
    note: 'the header does not replace the certificate of a client',
    peer: { address: '127.0.0.1', certificate },
    header: [forwarded],
    expect: certificate,
  },
  { note: 'a header twice is refused', peer: { address: '127.0.0.1' }, header: [forwarded, forwarded], expect: 400 },
  {
    note: 'a header that is not a byte sequence is refused',
    peer: { address: '127.0.0.1' },
    header: ['AQID'],
    expect: 400,
  },
  { note: 'a header with bad base64 is refused', peer: { address: '127.0.0.1' }, header: [':A:'], expect: 400 },
];

for (const { note, peer, header, expect } of proxyCases) {
  test(`proxy: ${note}`, async (t) => {
    const engine = engineThat('ALLOW');
    const headers = { authorization: ['Bearer abc'], 'client-cert': header };
    const outcome = await authorize(request(headers, { peer }), { engine, rule, proxies });
    if (expect === 400) {
      t.like(outcome, {
        kind: 'refused',
        status: 400,
        body: { code: 400, message: 'header `client-cert` is malformed' },
      });
    } else {
      t.deepEqual(engine.asked, [
        {
          token: 'abc',
          action: 'read',
          resource: 'catalog:movie',
          ...(expect !== undefined && { certificate: expect }),
        },
      ]);
    }
  });
}

test('a hook finds the certificate in place of connection and proxies', async (t) => {
  const engine = engineThat('ALLOW');
  const found = new Uint8Array([9]);
  const headers = { authorization: ['Bearer abc'], 'client-cert': [forwarded], 'x-cert': ['9'] };
  const hooks: NonNullable<ProtectOptions['certificate']>[] = [
    ({ header, peer }) => (peer.address === '127.0.0.1' && header('x-cert')[0] === '9' ? found : undefined),
    () => undefined,
  ];
  for (const hook of hooks) {
    await authorize(request(headers, { peer: { address: '127.0.0.1', certificate } }), {
      engine,
      rule,
      proxies,
      certificate: hook,
    });
  }
  const asked = { token: 'abc', action: 'read', resource: 'catalog:movie' };
  t.deepEqual(engine.asked, [{ ...asked, certificate: found }, asked]);
  const fail = () => {
    throw new Error('no certificate here');
  };
  await t.throwsAsync(authorize(request(headers), { engine, rule, certificate: fail }), {
    message: 'no certificate here',
  });
  t.is(engine.asked.length, 2);
});

const advice =
  'the caller must connect with the certificate of its token, and the service must ask for one (`requestCert`); behind a proxy see `proxies`';
const hints: [note: string, peer: ProtectedRequest['peer'], hint: string][] = [
  ['none', {}, `the request came without a client certificate: ${advice}`],
  [
    'one that is not valid',
    { certificateRefused: true },
    `the client certificate of the request is not valid here: ${advice}`,
  ],
  ['another one', { certificate: 'another one' }, statusRemedy('DENY_CERT_HASH_MISMATCH')],
];
for (const [note, peer, hint] of hints) {
  test(`the advice about a token without its certificate advises no weaker check: ${note}`, async (t) => {
    const told: string[] = [];
    const onRefusal = (refusal: Refusal) => void told.push(refusal.hint);
    const engine = engineThat('DENY_CERT_HASH_MISMATCH');
    await authorize(request({ authorization: ['Bearer abc'] }, { peer }), { engine, rule, onRefusal });
    t.deepEqual(told, [hint]);
    t.notRegex(hint, /requireBound/);
  });
}
