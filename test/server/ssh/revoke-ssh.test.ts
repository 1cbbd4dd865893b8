import { parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError, InvalidRequestError, NotFoundError } from '@signet/server/errors';
import { parseSshRevocation, revokeSsh } from '@signet/server/ssh/revoke-ssh';
import test from 'ava';
import { type DomainSketch, snapshotOf } from '#support/domains';

/* Revocation of SSH certificates by their owner and others, against a store that is a list. */

const read: readonly (readonly [body: object, revocation: object])[] = [
  [{ serial: '42' }, { selection: { by: 'serial', serial: 42n }, reason: 'unspecified' }],
  [
    { serial: '18446744073709551615' },
    { selection: { by: 'serial', serial: (1n << 64n) - 1n }, reason: 'unspecified' },
  ],
  [
    { keyId: 'user:a.b', reason: 'key-compromise' },
    { selection: { by: 'keyId', keyId: 'user:a.b' }, reason: 'key-compromise' },
  ],
];
for (const [body, revocation] of read) {
  test(`a revocation: ${JSON.stringify(body)}`, (t) => t.deepEqual(parseSshRevocation(body) as object, revocation));
}

const either = 'the body must have either `serial` or `keyId`';
const faulty = (field: string) => `${field} is not as it must be: \`serial\` or \`keyId\`, and \`reason\``;
const refused: readonly (readonly [body: unknown, message: string])[] = [
  [{}, either],
  [{ reason: 'superseded' }, either],
  [{ serial: '42', keyId: 'user:a.b' }, either],
  [{ serial: 42 }, faulty('serial')],
  [{ serial: '0' }, faulty('serial')],
  [{ serial: '-1' }, faulty('serial')],
  [{ serial: '042' }, faulty('serial')],
  [{ keyId: '' }, faulty('keyId')],
  [{ keyId: 'x'.repeat(1025) }, faulty('keyId')],
  [{ keyId: 'a', reason: 'bored' }, faulty('reason')],
  [{ keyId: 'a', more: 1 }, faulty('the body')],
  [undefined, faulty('the body')],
];
for (const [body, message] of refused) {
  test(`no revocation: ${JSON.stringify(body)?.slice(0, 40)}`, (t) => {
    t.throws(() => parseSshRevocation(body), { instanceOf: InvalidRequestError, message });
  });
}

const operators: DomainSketch = { roles: { ops: ['user.op'] }, rules: ['allow revoke ssh ops'] };

interface Ask {
  readonly caller: string;
  readonly owners: readonly string[];
  readonly system?: DomainSketch | undefined;
}

async function outcome({ caller, owners, system = operators }: Ask): Promise<string> {
  const taken: string[] = [];
  const transaction = {
    liveSshCertificates: async () =>
      owners.map((owner, index) => ({ owner: parsePrincipalName(owner), serial: `${index}` })),
    revokeCertificate: async (serial: string) => {
      taken.push(serial);
      return true;
    },
    source: () => undefined,
  };
  const snapshot = snapshotOf({ media: {}, 'sys.auth': system });
  const deps = {
    store: { change: async (_: unknown, work: (transaction: never) => Promise<number>) => work(transaction as never) },
    snapshotAt: async () => snapshot,
    clock: { now: () => 1_000_000 },
  };
  const revocation = { selection: { by: 'keyId', keyId: 'user:a.b' }, reason: 'unspecified' } as const;
  const asker = { principal: parsePrincipalName(caller) };
  try {
    const count = await revokeSsh(deps as never, asker, revocation, { actor: caller } as never);
    return `${count} of ${taken.length}`;
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof ForbiddenError) return error.message;
    throw error;
  }
}

const forbidden = 'an SSH certificate is revoked by its owner or an operator';
const cases: readonly (readonly [note: string, ask: Ask, outcome: string])[] = [
  ['the owner', { caller: 'media.a', owners: ['media.a', 'media.a'] }, '2 of 2'],
  ['the owner of one of two', { caller: 'media.a', owners: ['media.a', 'media.b'] }, forbidden],
  ['somebody else', { caller: 'media.c', owners: ['media.a'] }, forbidden],
  ['an operator', { caller: 'user.op', owners: ['media.a', 'media.b'] }, '2 of 2'],
  [
    'an operator by a rule for something else',
    { caller: 'user.op', owners: ['media.a'], system: { ...operators, rules: ['allow revoke x509 ops'] } },
    forbidden,
  ],
  [
    'an operator while his domain is disabled',
    { caller: 'user.op', owners: ['media.a'], system: { ...operators, enabled: false } },
    forbidden,
  ],
  ['nobody, as there is none', { caller: 'media.a', owners: [] }, 'there is no such SSH certificate in force'],
];
for (const [note, ask, expected] of cases) {
  test(`SSH certificates are revoked by ${note}`, async (t) => t.is(await outcome(ask), expected));
}
