import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { notARole, parseCredentialsRequest } from '@signet/server/cloud/credentials-request';
import { roleSession } from '@signet/server/cloud/role-session';
import { createSts } from '@signet/server/cloud/sts';
import test, { type ExecutionContext } from 'ava';
import { runProgram } from '#support/run-program';
import { type StsMood, startSts, stsAccess } from '#support/sts';

process.env['AWS_ACCESS_KEY_ID'] = stsAccess.accessKeyId;
process.env['AWS_SECRET_ACCESS_KEY'] = stsAccess.secretAccessKey;
process.env['AWS_EC2_METADATA_DISABLED'] = 'true';

const domain = parseDomainName('catalog');
const player = parsePrincipalName('media.player');

async function start(t: ExecutionContext, mood: StsMood) {
  const local = await startSts(t);
  local.mood = mood;
  const sts = createSts({
    region: 'eu-central-1',
    endpoint: local.endpoint,
    timeoutMs: mood.kind === 'stall' || mood.kind === 'trickle' ? 500 : 9000,
  });
  t.teardown(() => sts.close());
  return { local, sts };
}

const session = roleSession(
  '123456789012',
  player,
  parseCredentialsRequest(domain, 'team/Reader', { durationSeconds: '900', externalId: 'ex:1' }),
);

test('a granted role: what the cloud is sent, and what comes back', async (t) => {
  const { local, sts } = await start(t, { kind: 'grant' });
  const credentials = await sts.assumeRole(session);
  t.like(credentials, {
    accessKeyId: 'ASIAEXAMPLE0000000000',
    secretAccessKey: 'a/secret+key',
    sessionToken: 'a-session-token==',
  });
  t.true(credentials.expiration > 0);
  t.deepEqual(local.calls, [
    {
      Action: 'AssumeRole',
      Version: '2011-06-15',
      RoleArn: 'arn:aws:iam::123456789012:role/team/Reader',
      RoleSessionName: 'media.player',
      SourceIdentity: 'media.player',
      DurationSeconds: '900',
      ExternalId: 'ex:1',
      'Tags.member.1.Key': 'domain',
      'Tags.member.1.Value': 'catalog',
      'Tags.member.2.Key': 'role',
      'Tags.member.2.Value': 'team/Reader',
      'Tags.member.3.Key': 'principal',
      'Tags.member.3.Value': 'media.player',
    },
  ]);
});

const noCredentials = 'the cloud answered without credentials';

/** An answer of STS in which one member is replaced. */
function credentialsWith(missing: string, instead: string): string {
  const members = { AccessKeyId: 'A', SecretAccessKey: 'S', SessionToken: 'T', Expiration: '2026-01-01T01:00:00Z' };
  const all = Object.entries(members).map(([name, value]) =>
    name === missing ? instead : `<${name}>${value}</${name}>`,
  );
  return `<AssumeRoleResponse><AssumeRoleResult><Credentials>${all.join('')}</Credentials></AssumeRoleResult></AssumeRoleResponse>`;
}

const failures: { note: string; mood: StsMood; code: string; message: string; calls: number }[] = [
  {
    note: 'refused',
    mood: { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'not authorized to perform sts:AssumeRole' },
    code: 'invalid-request',
    message: 'the cloud refused the role: AccessDenied: not authorized to perform sts:AssumeRole',
    calls: 1,
  },
  {
    note: 'the server credentials expired',
    mood: { kind: 'refuse', status: 403, code: 'ExpiredToken', message: 'expired' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 1,
  },
  {
    note: 'throttled',
    mood: { kind: 'refuse', status: 400, code: 'Throttling', message: 'Rate exceeded' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 2,
  },
  {
    note: 'broken',
    mood: { kind: 'refuse', status: 500, code: 'InternalFailure', message: 'sorry' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 2,
  },
  {
    note: 'stalled',
    mood: { kind: 'stall' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 2,
  },
  {
    note: 'an answer that never ends',
    mood: { kind: 'trickle' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 1,
  },
  {
    note: 'reset',
    mood: { kind: 'reset' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 2,
  },
  {
    note: 'nonsense',
    mood: { kind: 'nonsense', body: 'not xml' },
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
    calls: 1,
  },
  {
    note: 'an entity bomb',
    mood: {
      kind: 'nonsense',
      body: '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]><AssumeRoleResponse><AssumeRoleResult>&b;</AssumeRoleResult></AssumeRoleResponse>',
    },
    code: 'service-unavailable',
    message: noCredentials,
    calls: 1,
  },
  ...['AccessKeyId', 'SecretAccessKey', 'SessionToken', 'Expiration'].flatMap((missing) =>
    [`<${missing}></${missing}>`, ''].map((instead) => ({
      note: `credentials ${instead === '' ? 'without' : 'with an empty'} ${missing}`,
      mood: { kind: 'nonsense' as const, body: credentialsWith(missing, instead) },
      code: 'service-unavailable',
      message: missing === 'Expiration' && instead !== '' ? 'the cloud cannot be asked now' : noCredentials,
      calls: 1,
    })),
  ),
];

for (const { note, mood, code, message, calls } of failures) {
  test(`a failure is told apart: ${note}`, async (t) => {
    const { local, sts } = await start(t, mood);
    const error = await t.throwsAsync(sts.assumeRole(session));
    t.like(error, { code, message });
    t.is(local.calls.length, calls);
  });
}

test('an answer is read up to 32 KiB, and no further', async (t) => {
  const text =
    '<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>A</AccessKeyId><SecretAccessKey>s</SecretAccessKey>' +
    '<SessionToken>t</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>';
  const { local, sts } = await start(t, { kind: 'nonsense', body: text.padEnd(32_768) });
  t.is((await sts.assumeRole(session)).accessKeyId, 'A');
  local.mood = { kind: 'nonsense', body: text.padEnd(32_769) };
  t.like(await t.throwsAsync(sts.assumeRole(session)), {
    code: 'service-unavailable',
    message: 'the cloud cannot be asked now',
  });
  t.is(local.calls.length, 2, 'it is not asked once more');
});

const badRequests: { note: string; role?: string; query: Record<string, string>; message: string }[] = [
  {
    note: 'too short',
    query: { durationSeconds: '899' },
    message: 'durationSeconds must be an integer from 900 to 43200',
  },
  {
    note: 'too long',
    query: { durationSeconds: '43201' },
    message: 'durationSeconds must be an integer from 900 to 43200',
  },
  {
    note: 'a fraction',
    query: { durationSeconds: '900.0' },
    message: 'durationSeconds must be an integer from 900 to 43200',
  },
  {
    note: 'an exponent',
    query: { durationSeconds: '9e2' },
    message: 'durationSeconds must be an integer from 900 to 43200',
  },
  {
    note: 'empty',
    query: { durationSeconds: '' },
    message: 'durationSeconds must be an integer from 900 to 43200',
  },
  {
    note: 'external id of one',
    query: { externalId: 'x' },
    message: 'externalId must be 2 to 1224 characters of `[A-Za-z0-9_+=,.@:/-]`',
  },
  {
    note: 'external id with a blank',
    query: { externalId: 'a b' },
    message: 'externalId must be 2 to 1224 characters of `[A-Za-z0-9_+=,.@:/-]`',
  },
  { note: 'a role that climbs', role: '../admin', query: {}, message: notARole },
  { note: 'an empty role', role: '', query: {}, message: notARole },
  { note: 'a role that ends in a slash', role: 'a/', query: {}, message: notARole },
];

for (const { note, role, query, message } of badRequests) {
  test(`a request is refused: ${note}`, (t) => {
    const error = t.throws(() => parseCredentialsRequest(domain, role ?? 'reader', query));
    t.like(error, { code: 'invalid-request', message });
  });
}

test('a principal too long for a session name keeps a name of its own', (t) => {
  const request = parseCredentialsRequest(domain, 'reader', {});
  const names = ['a', 'b'].map(
    (end) => roleSession('123456789012', parsePrincipalName(`media.${'p'.repeat(80)}${end}`), request).sessionName,
  );
  t.true(names.every((name) => /^[\w+=,.@-]{64}$/.test(name)));
  t.not(names[0], names[1]);
});

test('the command line of AWS reads the local STS as it reads the real one', async (t) => {
  const { local } = await start(t, { kind: 'grant' });
  const there = await runProgram('aws', ['--version']).catch(() => undefined);
  if (there?.status !== 0) {
    t.log('the command line of AWS is not installed here: not tried');
    t.pass();
    return;
  }
  const arn = 'arn:aws:iam::123456789012:role/team/Reader';
  const names = ['--role-arn', arn, '--role-session-name', 'media.player', '--duration-seconds', '900'];
  const at = ['--endpoint-url', local.endpoint, '--region', 'eu-central-1', '--output', 'json'];
  const { status, stdout, stderr } = await runProgram('aws', ['sts', 'assume-role', ...names, ...at]);
  t.is(status, 0, stderr);
  t.like(JSON.parse(stdout), {
    Credentials: { AccessKeyId: 'ASIAEXAMPLE0000000000', SecretAccessKey: 'a/secret+key' },
    AssumedRoleUser: { Arn: arn },
  });
  t.like(local.calls, [{ Action: 'AssumeRole', RoleArn: arn, DurationSeconds: '900' }]);
  local.mood = { kind: 'refuse', status: 403, code: 'AccessDenied', message: 'not trusted' };
  const refused = await runProgram('aws', ['sts', 'assume-role', ...names, ...at]);
  t.regex(refused.stderr, /\(AccessDenied\).*not trusted/);
});
