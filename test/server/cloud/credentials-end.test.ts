import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { parseCredentialsRequest } from '@signet/server/cloud/credentials-request';
import { getCredentials } from '@signet/server/cloud/get-credentials';
import type { RoleSession } from '@signet/server/cloud/role-session';
import { ForbiddenError } from '@signet/server/errors';
import type { Snapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';
import { snapshotOf } from '#support/domains';

/* Credentials of a cloud end no later than the membership that gives the right to them. */

const start = 1_700_000_000;

/** A member of the role for so many seconds, with an account. */
function snapshotFor(seconds: number): Snapshot {
  const plain = snapshotOf({
    catalog: {
      roles: { loader: [{ name: 'media.player', expires: (start + seconds) * 1000 }] },
      rules: ['allow assume_aws_role nightly loader'],
    },
    media: { services: ['player'] },
  });
  const name = parseDomainName('catalog');
  const domain = plain.domain(name);
  if (domain === undefined) throw new Error('no domain');
  const catalog = { ...domain, accounts: { aws: '123456789012' } };
  return { ...plain, domain: (asked) => (asked === name ? catalog : plain.domain(asked)) };
}

interface Ask {
  /** Seconds of membership. */
  readonly membership: number;
  /** The same when the cloud has answered. */
  readonly later?: number;
  readonly durationSeconds?: string;
  /** Seconds by which the cloud's clock is ahead. */
  readonly ahead?: number;
}

/** Life of the session that the cloud was asked for, or the error. */
async function ask({ membership, later = membership, ahead = 0, ...query }: Ask): Promise<unknown> {
  const sessions: RoleSession[] = [];
  const deps = {
    snapshot: () => snapshotFor(membership),
    latest: async () => snapshotFor(later),
    certificates: { find: async () => undefined },
    clock: { now: () => start * 1000 + 700 },
    cache: {
      get: async (session: RoleSession) => {
        sessions.push(session);
        return { expiration: (start + ahead + (session.durationSeconds ?? 3600)) * 1000 };
      },
    },
  };
  const request = parseCredentialsRequest(parseDomainName('catalog'), 'nightly', query);
  try {
    await getCredentials(deps as never, { principal: parsePrincipalName('media.player') }, request);
    return sessions.map(({ durationSeconds }) => durationSeconds ?? 'default');
  } catch (error) {
    return error instanceof ForbiddenError ? [...sessions.map(() => 'asked'), error.message] : error;
  }
}

const tooSoon =
  'the right to `assume_aws_role` on `catalog:nightly` ends too soon: credentials need 960 seconds of membership';
const denied = 'principal may not `assume_aws_role` on `catalog:nightly`';
const cases: readonly (readonly [note: string, ask: Ask, expected: readonly unknown[]])[] = [
  ['a membership of a day', { membership: 86_400 }, ['default']],
  ['a membership of an hour and the margin', { membership: 3660 }, ['default']],
  ['a second less: whole quarters of an hour', { membership: 3659 }, [2700]],
  ['a longer life was asked for', { membership: 3660, durationSeconds: '43200' }, [3600]],
  ['a shorter life was asked for', { membership: 3660, durationSeconds: '1000' }, [1000]],
  ['a membership that has ended', { membership: 0 }, [denied]],
  ['a membership that was shortened meanwhile', { membership: 86_400, later: 3599 }, ['asked', denied]],
  ['a membership that was shortened to the end of the session', { membership: 86_400, later: 3600 }, ['default']],
  ['a cloud that is ahead', { membership: 3660, ahead: 60 }, ['default']],
  ['a cloud that is too far ahead', { membership: 3660, ahead: 61 }, ['asked', denied]],
];
for (const [note, asked, expected] of cases) {
  test(`the life of credentials: ${note}`, async (t) => t.deepEqual(await ask(asked), expected));
}

test('the cloud is not asked for a shorter life than it has', async (t) => {
  t.deepEqual(await ask({ membership: 960 }), [900]);
  t.deepEqual(await ask({ membership: 959 }), [tooSoon]);
});
