import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { requireApprover } from '@signet/server/management/requests/approvers';
import { rightsOf } from '@signet/server/management/rights';
import test from 'ava';
import { snapshotOf } from '#support/domains';

/* Author and approver do not hold certificates from one hand: who asked for the certificate of each, and whether that is permitted. */

const films = parseDomainName('films');
const rights = rightsOf(
  snapshotOf({ films: { roles: { admin: ['user.ann', 'user.bob'] } } }),
  parsePrincipalName('user.bob'),
  0,
);
const request = {
  id: 1,
  state: 'open',
  author: 'user.ann',
  certificate: 'a',
  created: 0,
  expires: 1,
  domains: [films],
  needed: 1,
  kind: 'role',
  content: { kind: 'role', domain: films, role: parseRoleName('reader'), seconds: 60 },
  approvals: [],
} as const;

const oneHand = /issued at the request of the other person/;
const noLogIn = /neither certificate was fetched by a log-in/;

/** Who asked for the certificates of the author and of the approver; the refusal, without and with `issuedByOperators`. */
const cases: readonly (readonly [
  author: readonly string[],
  approver: readonly string[],
  usual: RegExp | undefined,
  permitted?: RegExp,
])[] = [
  [['user.ann'], ['user.bob'], undefined],
  [['user.ann'], ['sys.auth.operator'], undefined],
  [['sys.auth.operator'], ['user.bob'], undefined],
  [['user.ann'], [], undefined],
  [[], ['user.bob'], undefined],
  [[], [], noLogIn],
  [['sys.auth.operator'], ['sys.auth.operator'], noLogIn],
  [['sys.auth.operator'], ['user.desk'], noLogIn],
  [['user.ann', 'sys.auth.operator'], ['user.bob', 'sys.auth.operator'], noLogIn],
  [['user.ann'], ['user.ann'], oneHand, oneHand],
  [['user.ann'], ['sys.auth.operator', 'user.ann'], oneHand, oneHand],
  [['user.bob'], ['user.bob'], oneHand, oneHand],
  [['sys.auth.operator', 'user.bob'], ['user.bob'], oneHand, oneHand],
];

for (const [author, approver, usual, permitted] of cases) {
  test(`asked for by ${author.join(' and ') || 'nobody known'}, and ${approver.join(' and ') || 'nobody known'}`, async (t) => {
    const reader = { certificateAskedBy: async (serial: string) => (serial === 'a' ? author : approver) };
    for (const [issuedByOperators, refusal] of [
      [false, usual],
      [true, permitted],
    ] as const) {
      const approving = { approver: { caller: rights.caller, serial: 'b' }, issuedByOperators };
      const asked = requireApprover(reader, request, rights, approving);
      if (refusal === undefined) await t.notThrowsAsync(asked);
      else await t.throwsAsync(asked, { instanceOf: ForbiddenError, message: refusal });
    }
  });
}

test('without a certificate of its own nobody approves', async (t) => {
  const reader = { certificateAskedBy: async () => ['user.bob'] };
  const approving = { approver: { caller: rights.caller }, issuedByOperators: true };
  await t.throwsAsync(requireApprover(reader, request, rights, approving), { message: /client certificate/ });
});
