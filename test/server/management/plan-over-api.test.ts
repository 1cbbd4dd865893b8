import test from 'ava';
import { managementWorld, send } from '#support/management-world';

const { base, boss, guest, operator, newDomain, as, end } = await managementWorld();
test.after.always(end);

const document = (name: string, more = '') => `domain: ${name}
roles:
  admin: { members: [media.boss] }
  reader: { members: [media.player] }
policies:
  films:
    - { action: read, resource: film, role: reader }
${more}`;

const filesOf = (files: Readonly<Record<string, string>>) => ({
  files: Object.entries(files).map(([name, text]) => ({ name, text })),
});

interface PlanBody {
  readonly digest: string;
  readonly impact: readonly { readonly change: string; readonly principal: string }[];
  readonly refusals: readonly { readonly message: string }[];
  readonly casesPassed: number;
}

const plan = async (files: Readonly<Record<string, string>>, call = boss, query = '') => {
  return await call(`${base}/plan${query}`, send('POST', filesOf(files)));
};
const apply = async (files: Readonly<Record<string, string>>, digest: string, call = boss, query = '') => {
  return await call(`${base}/apply?plan=${digest}${query}`, send('POST', filesOf(files)));
};

test('a plan is applied by its digest, by an administrator, and the audit log names the caller', async (t) => {
  const domain = await newDomain('planned');
  const files = { 'planned.yaml': document('planned') };
  const planned = await plan(files);
  t.is(planned.status, 200, planned.text);
  const { digest, impact } = planned.body as PlanBody;
  t.regex(digest, /^[\w-]{43}$/);
  t.deepEqual(
    impact.map(({ change, principal }) => [change, principal]),
    [['gain', 'media.player']],
  );
  t.is(((await plan(files)).body as PlanBody).digest, digest, 'it is the same effect again');
  const applied = await apply(files, digest, boss, '&reason=films');
  t.is(applied.status, 200, applied.text);
  t.like(applied.body, { domains: [{ name: 'planned', outcome: 'changed' }], casesPassed: 0, warnings: [] });
  const { items } = (await operator(`${domain}/changes`)).body as { readonly items: readonly unknown[] };
  t.like(items[0], { actor: 'media.boss', reason: 'films', action: 'change' });
  t.deepEqual(((await plan(files)).body as PlanBody).impact, []);
  t.is((await apply(files, digest)).status, 412, 'its effect is another one now: none');
});

test('what changed meanwhile and matters is a 412, and what does not is applied', async (t) => {
  const domain = await newDomain('moved');
  const other = await newDomain('beside');
  await boss(`${other}/groups/team`, send('PUT', { members: ['media.guest'] }));
  const text = document('moved').replace('[media.player]', '[media.player, "beside:group.team"]');
  const files = { 'moved.yaml': text };
  const { digest } = (await plan(files)).body as PlanBody;
  await boss(`${other}/roles/anything`, send('PUT', { members: ['media.guest'] }));
  t.is((await boss(`${other}/groups/team/members/media.keyer`, send('PUT', {}))).status, 201);
  const refused = await apply(files, digest);
  t.like(refused.body, { code: 412, message: 'the effect differs from the plan: plan again' });
  const again = ((await plan(files)).body as PlanBody).digest;
  await boss(`${other}/roles/more`, send('PUT', { members: ['media.guest'] }));
  t.is((await apply(files, again)).status, 200);
  t.is((await boss(`${domain}/roles/reader`)).status, 200);
});

test('a plan of a domain that the caller does not see whole is refused in one text', async (t) => {
  await newDomain('foreign');
  const asked = async (name: string) => {
    const answer = await plan({ [`${name}.yaml`]: document(name) }, guest);
    t.is(answer.status, 403);
    return answer.text.replaceAll(name, 'x');
  };
  t.is(await asked('foreign'), await asked('nothing'));
  const cases = {
    'c.cases.yaml': '- { principal: media.boss, action: read, resource: foreign:film, expect: allow }\n',
  };
  t.is((await plan(cases, guest)).status, 403, 'nor may policy tests ask about it');
  const tried = await apply({ 'foreign.yaml': document('foreign') }, 'A'.repeat(43), guest);
  t.is(tried.status, 403);
});

test('operators alone make domains, give quotas and accounts and use reserved names', async (t) => {
  await newDomain('strict');
  const attempt = async (files: Readonly<Record<string, string>>, query = '') => {
    const planned = await plan(files, boss, query === '' ? '' : `?${query}`);
    if (planned.status !== 200) return planned.status;
    const { digest } = planned.body as PlanBody;
    const more = query === '' ? '' : `&${query}`;
    const own = await apply(files, digest, boss, more);
    return own.status;
  };
  t.is(await attempt({ 'made.yaml': document('made') }), 403);
  t.is(await attempt({ 'strict.yaml': document('strict', 'quotas: { roles: 5 }\n') }), 403);
  t.is(await attempt({ 'strict.yaml': document('strict', 'accounts: { aws: "123456789012" }\n') }), 403);
  t.is(await attempt({ 'strict.yaml': document('strict') }, 'reuseName=true'), 403);
  t.is(await attempt({ 'strict.yaml': document('strict') }), 200);
  const files = { 'made.yaml': document('made') };
  const { digest } = (await plan(files, operator)).body as PlanBody;
  t.is((await apply(files, digest, operator)).status, 200);
});

test('who sees a domain and does not administer it plans, and does not apply', async (t) => {
  const domain = await newDomain('seen');
  await operator(`${base}/domains/sys.auth/roles/watchers`, send('PUT', { members: ['media.keyer'] }));
  const rule = { action: 'view_domain', resource: 'domain.seen', role: 'watchers' };
  t.is((await operator(`${base}/domains/sys.auth/policies/watchers`, send('PUT', [rule]))).status, 201);
  const keyer = await as('media.keyer');
  const files = { 'seen.yaml': document('seen') };
  const planned = await plan(files, keyer);
  t.is(planned.status, 200, planned.text);
  const { digest } = planned.body as PlanBody;
  t.is((await apply(files, digest, keyer)).status, 403);
  t.is((await boss(`${domain}/roles/reader`)).status, 404, 'nothing was changed');
  t.is((await apply(files, digest)).status, 200, 'an administrator applies what was planned by another');
});

test('who may make domains sees those that it makes, and their groups', async (t) => {
  await operator(`${base}/domains/sys.auth/roles/makers`, send('PUT', { members: ['media.player'] }));
  const rule = { action: 'manage_domain', resource: 'domain.fresh.*', role: 'makers' };
  t.is((await operator(`${base}/domains/sys.auth/policies/makers`, send('PUT', [rule]))).status, 201);
  const maker = await as('media.player');
  const files = {
    'fresh.one.yaml': 'domain: fresh.one\nroles: { reader: { members: ["fresh.two:group.team"] } }\n',
    'fresh.two.yaml': 'domain: fresh.two\ngroups: { team: { members: [user.ann] } }\n',
  };
  const planned = await plan(files, maker);
  t.is(planned.status, 200, planned.text);
  t.deepEqual((planned.body as PlanBody).refusals, []);
  t.is((await apply(files, (planned.body as PlanBody).digest, maker)).status, 200);
  t.is((await plan({ 'other.yaml': 'domain: other\n' }, maker)).status, 403);
});

test('policy tests alone run on what is stored; failing ones and malformed documents are problems with their place', async (t) => {
  await newDomain('tested');
  const files = { 'tested.yaml': document('tested') };
  const { digest } = (await plan(files)).body as PlanBody;
  await apply(files, digest);
  const cases = '- { principal: media.player, action: read, resource: tested:film, expect: allow }\n';
  t.like((await plan({ 'tested.cases.yaml': cases })).body, { casesPassed: 1, changes: [] });
  const failing = await plan({ 'tested.cases.yaml': cases.replace('expect: allow', 'expect: deny') });
  t.is(failing.status, 400);
  t.like(failing.body, { problems: [{ file: 'tested.cases.yaml', line: 1 }] });
  const malformed = await plan({ 'tested.yaml': document('tested').replace('role: reader', 'rol: reader') });
  t.like(malformed.body, { code: 400, problems: [{ file: 'tested.yaml', line: 7 }] });
  t.like((await apply({ 'tested.cases.yaml': cases }, 'A'.repeat(43))).body, {
    code: 400,
    message: '`files` must hold a domain document: policy tests alone change nothing',
  });
});

test('bad input is refused by its name', async (t) => {
  const post = (path: string, body: unknown) => boss(`${base}${path}`, send('POST', body));
  const ok = filesOf({ 'x.yaml': 'domain: x\n' });
  const rows: readonly (readonly [path: string, body: unknown, message: string | RegExp])[] = [
    ['/apply', ok, 'plan is required: POST /management/v1/plan'],
    ['/apply?plan=abc', ok, 'plan must be 43 characters of base64url, as `plan` prints it'],
    ['/plan?observedDays=1', ok, /^the query has a parameter that is not known here/],
    ['/plan?strict=yes', ok, 'strict must be `true` or `false`'],
    ['/plan', {}, '`files` is missing or not of its type'],
    ['/plan', { files: [] }, '`files` must not be empty'],
    ['/plan', { ...ok, requests: [] }, 'the body has a member that is not known'],
    ['/plan', { files: [{ name: '../x.yaml', text: '' }] }, '`files[0].name` is missing or not of its type'],
    ['/plan', { files: [{ name: 'x.json', text: '' }] }, '`files[0].name` is missing or not of its type'],
    ['/plan', { files: [...ok.files, ...ok.files] }, '`files[1].name` stands twice'],
    ['/plan', filesOf({ 'y.yaml': 'domain: x\n' }), /must be in `x\.yaml`, not in `y\.yaml`/],
  ];
  for (const [path, body, message] of rows) {
    const { status, body: answer } = await post(path, body);
    const text = String((answer as { readonly message: unknown }).message);
    t.is(status, 400, `${path} ${text}`);
    if (typeof message === 'string') t.is(text, message);
    else t.regex(text, message);
  }
  const twice = {
    ...send('POST', undefined),
    headers: { 'content-type': 'application/json' },
    body: '{"files":[],"files":[]}',
  };
  t.is((await boss(`${base}/plan`, twice)).status, 400);
});

test('hostile documents are refused by the process that reads them', async (t) => {
  await newDomain('hostile');
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (const [at, name] of [...'bcdefghi'].entries()) {
    bomb.push(`${name}: &${name} [${Array(9).fill(`*${'abcdefghi'[at]}`).join(', ')}]`);
  }
  const keys = Array.from({ length: 100_000 }, (_, index) => `k${index}: 1`).join('\n');
  for (const text of [bomb.join('\n'), keys, '['.repeat(10_000), `#${'x'.repeat(900_000)}`]) {
    const { status } = await plan({ 'hostile.yaml': text });
    t.true(status === 400 || status === 413, String(status));
  }
});

test('of two applies of one plan at once exactly one happens', async (t) => {
  await newDomain('raced');
  const files = { 'raced.yaml': document('raced') };
  const { digest } = (await plan(files)).body as PlanBody;
  const second = operator;
  const answers = await Promise.all([apply(files, digest), apply(files, digest, second)]);
  t.deepEqual(answers.map(({ status }) => status).sort(), [200, 412]);
});
