import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { tokenSizeWarnings } from '@signet/server/management/documents/token-size-warnings';
import { parsePublicKey } from '@signet/server/management/public-key';
import test from 'ava';

/* Plans foresee tokens that are refused. */

/** 2027-01-01. */
const now = 1_798_761_600_000;

function warningsOf(members: (role: number) => readonly string[], roles = 700): readonly string[] {
  const lines = Array.from({ length: roles }, (_, at) => {
    return `  a_role_with_a_long_name_${at}: { members: [${members(at).join(', ')}] }`;
  });
  const result = parseDomainDocument('films.yaml', `domain: films\nroles:\n${lines.join('\n')}\n`, parsePublicKey);
  if (result.kind !== 'ok') throw new Error(JSON.stringify(result.problems));
  return tokenSizeWarnings(result.document, now).map(({ message, line }) => `${line}: ${message}`);
}

test('a member with more roles than a token carries is named, with those of `*`', (t) => {
  t.deepEqual(
    warningsOf((role) => [`user.u${role}`]),
    [],
  );
  t.deepEqual(
    warningsOf(() => ['user.jane'], 50),
    [],
  );
  t.regex(warningsOf(() => ['user.jane'])[0] ?? '', /^2: `user\.jane` holds 700 roles: an access token for all roles/);
  t.regex(
    warningsOf(() => ['user.jane', 'user.joe'])[0] ?? '',
    /`user\.jane` holds 700 roles, and so do 1 other members/,
  );
  t.is(warningsOf((role) => (role < 650 ? ['"*"'] : ['user.jane'])).length, 1);
});

test('memberships that have ended do not count', (t) => {
  t.deepEqual(
    warningsOf(() => ['{ name: user.jane, expires: 2026-01-01T00:00:00Z }']),
    [],
  );
});
