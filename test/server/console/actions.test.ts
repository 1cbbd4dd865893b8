import type { ApiAnswer, ApiRequest } from '@signet/server/console/api';
import test, { type ExecutionContext } from 'ava';
import { formType, startConsole } from '#support/console-host';
import { stubCall, stubRequest } from '#support/console-stub';

/* What forms ask of the API, and what pages say when it refuses. */

const sameSite = { ...formType, 'sec-fetch-site': 'same-origin' };

async function start(t: ExecutionContext, refuse?: (asked: ApiRequest) => ApiAnswer | undefined, me = 'user.ann') {
  const { call, asked } = stubCall('A text', refuse);
  const { ask, opened, faults } = await startConsole(t, { call, me });
  const path = await opened();
  return {
    asked,
    faults,
    show: (page: string) => ask(`${path}${page}`),
    post: (form: string, fields: Readonly<Record<string, string>>) =>
      ask(`${path}${form}`, { method: 'POST', headers: sameSite, body: new URLSearchParams(fields).toString() }),
  };
}

const digest = 'A'.repeat(43);
const forms: readonly (readonly [
  form: string,
  fields: Readonly<Record<string, string>>,
  asked: ApiRequest,
  location: string,
])[] = [
  [
    'request-role',
    { role: 'films:role.viewer', seconds: '3600', reason: 'ticket 4711' },
    { method: 'POST', path: ['requests'], body: { role: 'films:role.viewer', seconds: 3600, reason: 'ticket 4711' } },
    'request?id=17&done=requested',
  ],
  [
    'approve',
    { id: '17', plan: digest, comment: ' seen ' },
    { method: 'POST', path: ['requests', '17', 'approval'], body: { plan: digest, comment: 'seen' } },
    'request?id=17&done=applied',
  ],
  [
    'approve',
    { id: '17', comment: '' },
    { method: 'POST', path: ['requests', '17', 'approval'], body: {} },
    'request?id=17&done=applied',
  ],
  [
    'reject',
    { id: '17', comment: 'too much' },
    { method: 'POST', path: ['requests', '17', 'rejection'], body: { comment: 'too much' } },
    'request?id=17&done=rejected',
  ],
  ['withdraw', { id: '17' }, { method: 'DELETE', path: ['requests', '17'] }, 'request?id=17&done=withdrawn'],
  [
    'revoke',
    { serial: 'ab12', reason: 'superseded' },
    { method: 'PUT', path: ['certificates', 'ab12', 'revocation'], body: { reason: 'superseded' } },
    'certificate?serial=ab12&done=revoked',
  ],
];
for (const [form, fields, expected, location] of forms) {
  test(`the form ${form} with ${Object.keys(fields).join(', ')}`, async (t) => {
    const { post, asked, show } = await start(t, ({ path }) =>
      path.at(-1) === 'revocation' ? { status: 200, body: certificateOf('revoked') } : undefined,
    );
    const answer = await post(form, fields);
    t.is(answer.status, 303, answer.body);
    t.is(answer.headers.location, location);
    t.deepEqual(asked, [expected]);
    t.regex((await show(location)).body, /role="status"/);
  });
}

function certificateOf(state: string) {
  const times = { notBefore: '2027-01-01T00:00:00.000Z', notAfter: '2027-02-01T00:00:00.000Z' };
  return { serial: 'ab12', kind: 'user', subject: 'user.ann', holder: 'user.ann', ...times, state };
}

for (const [form, fields, message] of [
  ['approve', { id: '17/../18', plan: digest }, 'id must be a number'],
  ['withdraw', {}, '<code>id</code> is missing'],
  ['request-role', { role: 'films:role.viewer', seconds: '1e3', reason: 'x' }, 'seconds must be a number'],
  ['request-role', { role: 'films:role.viewer', seconds: '3600', reason: '' }, '<code>reason</code> is missing'],
  ['delete-domain', { name: 'films' }, 'the console has no such form'],
] as const) {
  test(`the form ${form} with ${JSON.stringify(fields)} is refused before the API is asked`, async (t) => {
    const { post, asked } = await start(t);
    const answer = await post(form, fields);
    t.true(answer.status === 400 || answer.status === 404);
    t.true(answer.body.includes(message), answer.body);
    t.deepEqual(asked, []);
  });
}

test('a refused approval says why', async (t) => {
  const body = { code: 412, message: 'the effect differs from the plan: plan again' };
  const { post } = await start(t, ({ method }) => (method === 'POST' ? { status: 412, body } : undefined));
  const answer = await post('approve', { id: '17', plan: digest });
  t.is(answer.status, 412);
  t.regex(answer.body, /The effect is not the one that you saw[\s\S]+the effect differs from the plan: plan again/);
});

test('an approval that is not the last one needed', async (t) => {
  const { post } = await start(t, ({ path }) =>
    path.at(-1) === 'approval' ? { status: 200, body: JSON.parse(JSON.stringify(stubRequest('text'))) } : undefined,
  );
  t.is((await post('approve', { id: '17', plan: digest })).headers.location, 'request?id=17&done=approved');
});

test('the author withdraws, others approve what they see or reject', async (t) => {
  const others = await (await start(t)).show('request?id=17');
  t.regex(others.body, /action="approve">[\s\S]+name="plan" value="A{43}"/);
  t.regex(others.body, /action="reject"/);
  t.false(others.body.includes('action="withdraw"'));
  const own = await (await start(t, undefined, 'user.bob')).show('request?id=17');
  t.regex(own.body, /action="withdraw"/);
  t.notRegex(own.body, /action="(?:approve|reject)"/);
});

for (const state of ['applied', 'rejected', 'withdrawn', 'expired']) {
  test(`a request that is ${state} has no form`, async (t) => {
    const body = JSON.parse(JSON.stringify(stubRequest('text', { state })));
    const { show } = await start(t, () => ({ status: 200, body }));
    t.notRegex((await show('request?id=17')).body, /method="post"/);
  });
}

test('a request whose effect cannot be told is rejected or left, not approved', async (t) => {
  const body = JSON.parse(JSON.stringify(stubRequest('text', { plan: undefined, problem: 'the role is gone' })));
  const { show } = await start(t, () => ({ status: 200, body }));
  const { body: page } = await show('request?id=17');
  t.regex(page, /It can no longer be made: the role is gone/);
  t.regex(page, /action="reject"/);
  t.false(page.includes('action="approve"'));
});

test('an effect with a condition that this version does not know is not shown in part', async (t) => {
  const request = JSON.parse(JSON.stringify(stubRequest('text')));
  request.plan.impact[0].contexts = [{ phaseOfMoon: { is: 'full' } }];
  const { show } = await start(t, () => ({ status: 200, body: request }));
  const answer = await show('request?id=17');
  t.is(answer.status, 502);
  t.regex(answer.body, /cannot read the answer of the server/);
});

for (const [status, heading] of [
  [401, /Your certificate expired or was revoked[\s\S]+signet login/],
  [404, /There is nothing here[\s\S]+no such object/],
  [429, /The server is busy/],
  [500, /The server refused this/],
  [503, /The server is not available/],
] as const) {
  test(`a page whose object is refused with ${status}`, async (t) => {
    const refused = { status, body: { code: status, message: 'no such object' } };
    const { show } = await start(t, () => refused);
    const answer = await show('domain?name=gone');
    t.is(answer.status, status >= 500 ? 502 : status);
    t.regex(answer.body, heading);
  });
}

for (const status of [403, 404]) {
  test(`a section that is refused with ${status} leaves the rest of the page`, async (t) => {
    const refused = { status, body: { code: status, message: 'no' } };
    const { show, faults } = await start(t, ({ path }) =>
      path.length > 2 || path[0] !== 'domains' ? refused : undefined,
    );
    const answer = await show('domain?name=films');
    t.is(answer.status, 200);
    t.regex(answer.body, status === 403 ? /You may not view this/ : /There is nothing to view here/);
    t.regex((await show('')).body, /<strong>–<\/strong> Requests that await you/);
    t.deepEqual(faults, []);
  });
}

test('whoever may not view the audit log of all is led to those of its domains', async (t) => {
  const refused = { status: 403, body: { code: 403, message: 'no' } };
  const { show } = await start(t, ({ path }) => (path.join('/') === 'changes' ? refused : undefined));
  const answer = await show('audit?about=user.bob');
  t.is(answer.status, 200);
  t.regex(answer.body, /You may not view the audit log of all domains/);
  t.regex(answer.body, /<a href="audit\?domain=films&amp;about=user\.bob">/);
  t.regex((await show('audit?domain=films')).body, /<ol class="records">/);
});

test('a fault of the console shows nothing of itself in the page', async (t) => {
  const { show, faults } = await start(t, () => {
    throw new Error('secret detail');
  });
  const answer = await show('domains');
  t.is(answer.status, 502);
  t.false(answer.body.includes('secret detail'));
  t.is(faults.length, 1);
});
