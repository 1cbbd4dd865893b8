import { hash } from 'node:crypto';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import type { AttestationRequest } from '@signet/server/instances/attestation/attestation';
import { joinTokenProvider } from '@signet/server/instances/attestation/join-token';
import test from 'ava';

const key = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};
const refusal = {
  instanceOf: ForbiddenError,
  message:
    'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one',
};

/** A provider whose store holds every token as open, or none, and what it was asked for. */
function open(isOpen: boolean) {
  const asked: unknown[] = [];
  const isJoinTokenOpen = async (...question: readonly unknown[]) => {
    asked.push(question);
    return isOpen;
  };
  const provider = joinTokenProvider({
    instances: { isJoinTokenOpen },
    clock: { now: () => 5999 },
    trimsJoinTokens: false,
  });
  const attest = (attestationData: string, operation: AttestationRequest['operation'] = 'register') =>
    provider.attest({ ...key, operation, attestationData, altNames: [], clientAddress: '127.0.0.1' });
  return { attest, asked };
}

test('a join token is asked for by its digest and the very instance, and handed on to be spent', async (t) => {
  const { attest, asked } = open(true);
  const text = 'signet-join-abc';
  t.like(await attest(text), { joinToken: hash('sha256', text, 'base64url') });
  t.deepEqual(asked, [[hash('sha256', text, 'base64url'), key, 5]]);
});

test('one that is not open is refused', async (t) => {
  await t.throwsAsync(open(false).attest('signet-join-abc'), refusal);
});

test('the store is asked for nothing that cannot be a join token', async (t) => {
  const { attest, asked } = open(true);
  for (const text of ['', 'abc', 'xsignet-join-abc', `signet-join-${'a'.repeat(117)}`]) {
    await t.throwsAsync(attest(text), refusal);
  }
  t.deepEqual(asked, []);
  t.like(await attest(`signet-join-${'a'.repeat(116)}`), { usage: 'both' });
});

test('a refresh asks for none', async (t) => {
  const { attest, asked } = open(false);
  t.like(await attest('', 'refresh'), { usage: 'both' });
  t.deepEqual(asked, []);
});
