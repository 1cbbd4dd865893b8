import { systemClock } from '@signet/policy-engine/clock';
import { parsePolicyName } from '@signet/policy-engine/names';
import { notARole } from '@signet/server/cloud/credentials-request';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { isNoName } from '#support/invalid-name';
import { saveDomain } from '#support/save-domain';
import { type Caller, caller, startServer, type TestServer } from '#support/start-server';
import { type LocalSts, startSts, stsAccess } from '#support/sts';
import { until } from '#support/until';

process.env['AWS_ACCESS_KEY_ID'] = stsAccess.accessKeyId;
process.env['AWS_SECRET_ACCESS_KEY'] = stsAccess.secretAccessKey;
process.env['AWS_EC2_METADATA_DISABLED'] = 'true';

const account = '123456789012';
const sketch: DomainSketch = {
  name: 'catalog',
  roles: { loader: ['media.player'], wild: ['media.studio'], barred: ['media.barred'], reader: ['media.player'] },
  policies: {
    cloud: [
      ['ALLOW', 'loader', 'assume_aws_role', 'Nightly'],
      ['ALLOW', 'loader', 'assume_aws_role', 'team/loads/nightly'],
      ['ALLOW', 'reader', 'read', 'movie'],
      ['ALLOW', 'wild', 'assume_aws_role', '*'],
      ['ALLOW', 'wild', '*', 'nightly'],
      ['ALLOW', 'barred', 'assume_aws_role', 'nightly'],
      ['DENY', 'barred', 'assume_aws_role', 'night*'],
    ],
    films: [['ALLOW', 'reader', 'read', 'movie']],
  },
};

/** The domain, where a rule with conditions and a version that is not active name the role `wild` too. */
function catalog() {
  const content = domainContent(sketch);
  const base = { action: 'assume_aws_role', resource: 'catalog:nightly', caseSensitive: false };
  const exact = { ...base, effect: 'ALLOW' as const, role: 'catalog:role.wild' };
  const conditions = { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } }] };
  const policy = { version: '0', caseSensitive: false };
  const conditional = { ...policy, name: parsePolicyName('conditional'), active: true };
  const resting = { ...policy, name: parsePolicyName('resting'), active: false };
  const more = [
    { ...conditional, assertions: [{ ...exact, conditions }] },
    { ...resting, assertions: [exact] },
  ];
  return { ...content, policies: [...content.policies, ...more], accounts: { aws: account } };
}
const media: DomainSketch = { name: 'media', services: { player: {}, studio: {}, barred: {}, guest: {} } };
const poor: DomainSketch = {
  name: 'poor',
  roles: { loader: ['media.player'] },
  policies: { cloud: [['ALLOW', 'loader', 'assume_aws_role', 'nightly']] },
};

interface World {
  readonly server: TestServer;
  readonly sts: LocalSts;
  readonly clock: FakeClock;
  as(name: string): Promise<Caller>;
}

async function start(
  t: ExecutionContext,
  options: Readonly<Record<string, unknown>> = {},
  clocks: { readonly monotonic?: () => number } = {},
): Promise<World> {
  const sts = await startSts(t);
  const clock = new FakeClock(systemClock.now());
  const cloud = { 'cloud.aws.region': 'eu-central-1', 'cloud.aws.endpoint': sts.endpoint };
  const server = await startServer(t, { clock, ...clocks, domains: [media, poor], options: { ...cloud, ...options } });
  await server.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, catalog()));
  await server.running.refresh();
  return { server, sts, clock, as: async (name) => caller(t, server, await server.pki.identity(name)) };
}

const refusal = (code: number, message: string) => ({ code, message });
const path = '/domain/catalog/role/nightly/creds';

test('the holder of the right gets credentials, and the cloud is told who it is', async (t) => {
  const { server, sts, as } = await start(t);
  const player = await as('media.player');
  const answer = await player('/domain/Catalog/role/Nightly/creds?durationSeconds=900&externalId=ext:1');
  t.is(answer.status, 200);
  const { expiration, ...credentials } = answer.body as Record<string, unknown>;
  t.deepEqual(credentials, {
    accessKeyId: 'ASIAEXAMPLE0000000000',
    secretAccessKey: 'a/secret+key',
    sessionToken: 'a-session-token==',
  });
  t.regex(String(expiration), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.is(answer.headers['cache-control'], 'no-store');
  t.is(answer.headers['content-type'], 'application/json');
  t.like(sts.calls, [
    {
      RoleArn: `arn:aws:iam::${account}:role/Nightly`,
      RoleSessionName: 'media.player',
      SourceIdentity: 'media.player',
      DurationSeconds: '900',
      ExternalId: 'ext:1',
      'Tags.member.1.Value': 'catalog',
      'Tags.member.2.Value': 'Nightly',
      'Tags.member.3.Value': 'media.player',
    },
  ]);
  const log = JSON.stringify(server.log);
  for (const secret of ['a/secret+key', 'a-session-token', 'ext:1', stsAccess.secretAccessKey]) {
    t.false(log.includes(secret), secret);
  }
});

const rolePaths: readonly (readonly [sent: string, role: string | undefined])[] = [
  ['team%2Floads%2Fnightly', 'team/loads/nightly'],
  ['team%252Floads%252Fnightly', 'team/loads/nightly'],
  ['Team%252fLoads%252FNightly', 'Team/Loads/Nightly'],
  ['team%25252Floads%25252Fnightly', undefined],
  ['team%2Floads%2F', undefined],
  ['%2e%2e%2fnightly', undefined],
  ['night%25zz', undefined],
  ['night%00ly', undefined],
  ['*', undefined],
];

for (const [sent, role] of rolePaths) {
  test(`a role with a path: ${sent}`, async (t) => {
    const { sts, as } = await start(t);
    const answer = await (await as('media.player'))(`/domain/catalog/role/${sent}/creds`);
    const arns = role === undefined ? [] : [`arn:aws:iam::${account}:role/${role}`];
    t.deepEqual(
      sts.calls.map((call) => call['RoleArn']),
      arns,
    );
    if (role === undefined) t.deepEqual(answer.body, refusal(400, notARole));
    else t.is(answer.status, 200);
  });
}

const duration = 'durationSeconds must be an integer from 900 to 43200';
const denied = (principal: string) =>
  [principal, path, refusal(403, 'principal may not `assume_aws_role` on `catalog:nightly`')] as const;
const beforeAnyCall: readonly (readonly [principal: string, path: string, body: { code: number; message: string }])[] =
  [
    ['media.player', `${path}?durationSeconds=899`, refusal(400, duration)],
    ['media.player', `${path}?durationSeconds=43201`, refusal(400, duration)],
    ['media.player', `${path}?durationSeconds=900.0`, refusal(400, duration)],
    ['media.player', `${path}?durationSeconds=9e2`, refusal(400, duration)],
    [
      'media.player',
      `${path}?externalId=x`,
      refusal(400, 'externalId must be 2 to 1224 characters of `[A-Za-z0-9_+=,.@:/-]`'),
    ],
    ['media.player', `${path}?externalId=ab&externalId=ab`, refusal(400, 'a parameter is repeated in the query')],
    ['media.player', '/domain/c!/role/nightly/creds', refusal(400, `domainName ${isNoName('DomainName')}`)],
    ['media.player', '/domain/nowhere/role/nightly/creds', refusal(404, 'domain `nowhere` does not exist')],
    ['media.player', '/domain/poor/role/nightly/creds', refusal(400, 'domain `poor` has no cloud account')],
    [
      'media.player',
      '/domain/catalog/role/other/creds',
      refusal(403, 'principal may not `assume_aws_role` on `catalog:other`'),
    ],
    denied('media.guest'),
    denied('media.studio'),
    denied('media.barred'),
  ];

for (const [principal, asked, body] of beforeAnyCall) {
  test(`refused before any call: ${principal} ${asked} ${body.code}`, async (t) => {
    const { sts, as } = await start(t);
    const answer = await (await as(principal))(asked);
    t.is(answer.status, body.code);
    t.deepEqual(answer.body, body);
    t.deepEqual(sts.calls, []);
  });
}

test('a role certificate and no certificate get nothing', async (t) => {
  const { server, sts } = await start(t);
  const role = caller(t, server, await server.pki.odd({ subject: 'CN=catalog:role.loader' }));
  t.deepEqual((await role(path)).body, refusal(403, 'a role certificate is not a service identity'));
  t.is((await caller(t, server)(path)).status, 401);
  t.deepEqual(sts.calls, []);
});

test('without a configured region there are no credentials', async (t) => {
  const server = await startServer(t, { domains: [media] });
  const player = caller(t, server, await server.pki.identity('media.player'));
  const message = 'cloud credentials are not configured on this server';
  t.deepEqual((await player(path)).body, refusal(400, message));
});

test('credentials are kept for their principal, role, duration and external id until a quarter is left', async (t) => {
  const { sts, clock, as } = await start(t);
  const player = await as('media.player');
  const ask = async (query = '') => t.is((await player(`${path}${query}`)).status, 200);
  await ask('?durationSeconds=3600');
  await ask('?durationSeconds=3600');
  t.is(sts.calls.length, 1);
  await ask();
  await ask('?durationSeconds=3600&externalId=other');
  await ask('?durationSeconds=900');
  t.is(sts.calls.length, 4);
  clock.advance(2_690_000);
  await ask('?durationSeconds=3600');
  t.is(sts.calls.length, 4);
  // The cloud counts by its own clock, which has gone on by as long as this took.
  clock.advance(600_000);
  await ask('?durationSeconds=3600');
  t.is(sts.calls.length, 5);
});

test('a right that was revoked ends kept credentials', async (t) => {
  const { server, as } = await start(t);
  const player = await as('media.player');
  t.is((await player(path)).status, 200);
  await server.store.change({ actor: 'test' }, (transaction) =>
    saveDomain(transaction, { ...domainContent({ ...sketch, policies: {} }), accounts: { aws: account } }),
  );
  await server.running.refresh();
  t.is((await player(path)).status, 403);
});

test('a refusal of the cloud is told with its reason and kept for two minutes at most', async (t) => {
  const { sts, clock, as } = await start(t);
  const player = await as('media.player');
  sts.mood = { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'not trusted' };
  const refused = refusal(400, 'the cloud refused the role: AccessDenied: not trusted');
  t.deepEqual((await player(path)).body, refused);
  sts.mood = { kind: 'grant' };
  clock.advance(119_000);
  t.deepEqual((await player(path)).body, refused);
  t.is(sts.calls.length, 1);
  clock.advance(2000);
  t.is((await player(path)).status, 200);
});

test('a cloud out of reach is 503 and not remembered; tokens are given meanwhile', async (t) => {
  const { sts, as } = await start(t, { 'cloud.aws.timeoutMs': 9000 });
  const [player, other] = [await as('media.player'), await as('media.player')];
  sts.mood = { kind: 'stall' };
  const stalled = player(path);
  await until('the cloud is asked', () => sts.calls.length > 0);
  t.is((await other('/access/domain/catalog/principal/media.player')).status, 200);
  t.deepEqual((await stalled).body, refusal(503, 'the cloud cannot be asked now'));
  sts.mood = { kind: 'grant' };
  t.is((await player(path)).status, 200);
});

test('many who ask at once for the same make one call', async (t) => {
  const { sts, as } = await start(t);
  const callers = await Promise.all(Array.from({ length: 10 }, () => as('media.player')));
  const answers = await Promise.all(callers.map((each) => each(path)));
  t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  t.is(new Set(answers.map(({ text }) => text)).size, 1);
  t.is(sts.calls.length, 1);
});

test('who has the cloud asked pays for that, and for what the store is asked', async (t) => {
  // On a clock that stands still, so that the budget never fills up.
  const budget = { workMsPerSecond: 10, burstMs: 100, inFlight: 8, share: 1 };
  const { sts, as } = await start(t, { 'budgets.principal': budget }, { monotonic: () => 1_000_000 });
  const player = await as('media.player');
  let answered = 0;
  while ((await player(`${path}?externalId=ex${answered}`)).status === 200) answered += 1;
  // 200 microseconds for the request, 300 for the store and 1200 for the cloud.
  t.true(answered > 40 && answered < 70, String(answered));
  t.is(sts.calls.length, answered);
});
