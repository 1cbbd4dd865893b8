import { type AssumeRole, CredentialsCache } from '@signet/server/cloud/credentials-cache';
import type { RoleSession } from '@signet/server/cloud/role-session';
import { InvalidRequestError, ServiceUnavailableError } from '@signet/server/errors';
import test from 'ava';
import { FakeClock } from '#support/clock';

const session: RoleSession = {
  roleArn: 'arn:aws:iam::123456789012:role/nightly',
  sessionName: 'media.player',
  sourceIdentity: 'media.player',
  tags: [{ key: 'principal', value: 'media.player' }],
};
const lifeMs = 1_000_000;

function world() {
  const clock = new FakeClock();
  const calls: string[] = [];
  let fault: Error | undefined;
  const assumeRole: AssumeRole = async ({ roleArn }) => {
    calls.push(roleArn);
    if (fault !== undefined) throw fault;
    return {
      accessKeyId: `${calls.length}`,
      secretAccessKey: 's',
      sessionToken: 't',
      expiration: clock.now() + lifeMs,
    };
  };
  const fail = (error: Error | undefined) => {
    fault = error;
  };
  return { clock, calls, fail, cache: new CredentialsCache(assumeRole, clock) };
}

test('credentials are kept until a quarter of their life is left', async (t) => {
  const { clock, cache } = world();
  const ask = async () => (await cache.get(session)).accessKeyId;
  t.is(await ask(), '1');
  clock.advance(lifeMs * 0.75 - 1);
  t.is(await ask(), '1');
  clock.advance(1);
  t.is(await ask(), '2');
});

test('each part of a session makes it another', async (t) => {
  const { calls, cache } = world();
  for (const other of [
    {},
    { roleArn: 'arn:aws:iam::123456789012:role/weekly' },
    { tags: [{ key: 'principal', value: 'media.other' }] },
    { durationSeconds: 900 },
    { externalId: 'ab' },
  ]) {
    await cache.get({ ...session, ...other });
    await cache.get({ ...session, ...other });
  }
  t.is(calls.length, 5);
});

test('a refusal is kept for two minutes, and only a refusal', async (t) => {
  const { clock, calls, fail, cache } = world();
  const refusal = new InvalidRequestError('the cloud refused the role');
  fail(refusal);
  t.is(await t.throwsAsync(cache.get(session)), refusal);
  fail(undefined);
  clock.advance(119_999);
  t.is(await t.throwsAsync(cache.get(session)), refusal);
  t.is(calls.length, 1);
  clock.advance(1);
  t.is((await cache.get(session)).accessKeyId, '2');
  for (const passing of [
    new ServiceUnavailableError('the cloud cannot be asked now'),
    Object.assign(new Error('a fault'), { code: 'invalid-request' }),
  ]) {
    const { fail: break_, cache: fresh } = world();
    break_(passing);
    t.is(await t.throwsAsync(fresh.get(session)), passing);
    break_(undefined);
    t.is((await fresh.get(session)).accessKeyId, '2');
  }
});

test('those who ask at once for the same wait for one call', async (t) => {
  const { calls, cache } = world();
  const answers = await Promise.all([
    cache.get(session),
    cache.get(session),
    cache.get({ ...session, externalId: 'ab' }),
  ]);
  t.deepEqual(
    answers.map(({ accessKeyId }) => accessKeyId),
    ['1', '1', '2'],
  );
  t.is(calls.length, 2);
});

test('who has the cloud asked is told so, and nobody else', async (t) => {
  const { cache } = world();
  const told: string[] = [];
  const ask = (who: string) => cache.get(session, () => told.push(who));
  await Promise.all([ask('first'), ask('meanwhile')]);
  await ask('later');
  t.deepEqual(told, ['first']);
});
