import { TokenVerifier, type VerifierOutcome, type VerifierRules } from '@signet/policy-engine';
import { TokenVerifier as CoreTokenVerifier } from '@signet/policy-engine/core';
import {
  createTestAuthority,
  type TestAuthority,
  type TestCertificate,
  type TestTokenInput,
} from '@signet/policy-engine/testing';
import test from 'ava';

/** Input and expected outcome. */
interface Row {
  note: string;
  input?: Partial<TestTokenInput>;
  bound?: boolean;
  certificate?: (own: TestCertificate, other: TestCertificate) => string | Uint8Array | { raw: Uint8Array } | null;
  rules?: Partial<VerifierRules>;
  after?: number;
  expect: VerifierOutcome['kind'] | `invalid: ${string}`;
}

const rows: Row[] = [
  { note: 'its certificate as DER', bound: true, certificate: (own) => own.raw, expect: 'valid' },
  { note: 'its certificate as PEM', bound: true, certificate: (own) => own.pem, expect: 'valid' },
  { note: 'its certificate as an object', bound: true, certificate: (own) => own, expect: 'valid' },
  { note: 'another certificate', bound: true, certificate: (_, other) => other, expect: 'not-held' },
  { note: 'no certificate', bound: true, expect: 'not-held' },
  { note: 'null for a certificate', bound: true, certificate: () => null, expect: 'not-held' },
  { note: 'rubbish for a certificate', bound: true, certificate: () => 'rubbish', expect: 'not-held' },
  { note: 'an unbound token', expect: 'not-held' },
  { note: 'an unbound token where that is accepted', rules: { requireBound: false }, expect: 'valid' },
  { note: 'an expired token', rules: { requireBound: false }, input: { expiresInSeconds: -1 }, expect: 'expired' },
  { note: 'a token that expired since', rules: { requireBound: false }, after: 3_600_000, expect: 'expired' },
  { note: 'another audience', input: { domain: 'media' }, expect: 'invalid: audience' },
  { note: 'another issuer', input: { claims: { iss: 'https://elsewhere.example' } }, expect: 'invalid: issuer' },
  { note: 'a plain JWT', input: { header: { typ: 'JWT' } }, expect: 'invalid: type' },
];

const doors: [name: string, open: (authority: TestAuthority, rules: VerifierRules) => Promise<CoreTokenVerifier>][] = [
  ['package', (authority, rules) => TokenVerifier.open({ keys: authority.keys, ...rules })],
  ['core', (authority, rules) => CoreTokenVerifier.open({ keys: authority.keys, ...rules })],
];
for (const [door, open] of doors) {
  for (const { note, input, bound, certificate, rules, after, expect } of rows) {
    test(`${door}: ${note}`, async (t) => {
      const authority = await createTestAuthority();
      const [own, other] = [authority.certificate('media.player'), authority.certificate('media.other')];
      using verifier = await open(authority, {
        issuers: [authority.issuer],
        audiences: ['catalog'],
        clock: authority.clock,
        ...rules,
      });
      const token = await authority.token({
        domain: 'catalog',
        roles: ['reader'],
        ...(bound === true && { certificate: own }),
        ...input,
      });
      const ask = () => verifier.verify({ token: `Bearer ${token}`, certificate: certificate?.(own, other) });
      if (after !== undefined) {
        t.is((await ask()).kind, 'valid');
        authority.clock.advance(after);
      }
      for (const _ of ['first', 'cached']) {
        const outcome = await ask();
        t.is(outcome.kind === 'invalid' ? `invalid: ${outcome.fault}` : outcome.kind, expect);
      }
    });
  }
}

const rules: VerifierRules = { issuers: ['https://signet.test/v1'], audiences: ['catalog'] };
const incomplete: [note: string, rules: VerifierRules, name: string][] = [
  ['no issuer', { ...rules, issuers: [] }, 'issuers'],
  ['no audience', { ...rules, audiences: [] }, 'audiences'],
  ['an empty audience', { ...rules, audiences: [''] }, 'audiences'],
  ['an empty audience after one', { ...rules, audiences: ['catalog', ''] }, 'audiences'],
  ['an audience that is a number after one', { ...rules, audiences: ['catalog', 7] as never }, 'audiences'],
  ['an audience that is a string', { ...rules, audiences: 'catalog' as never }, 'audiences'],
  ['an empty issuer before one', { ...rules, issuers: ['', 'https://signet.test/v1'] }, 'issuers'],
  ['audiences left out', JSON.parse('{"issuers":["https://signet.test/v1"]}'), 'audiences'],
  ['issuers left out', JSON.parse('{"audiences":["catalog"]}'), 'issuers'],
];
for (const [note, given, name] of incomplete) {
  test(`refused at the start: ${note}`, async (t) => {
    const message = `\`${name}\` must be an array that names at least one`;
    for (const Verifier of [TokenVerifier, CoreTokenVerifier]) {
      await t.throwsAsync(Verifier.open({ keys: { keys: [] }, ...given }), { code: 'invalid-options', message });
    }
  });
}

test('whatever is passed has an outcome', async (t) => {
  using verifier = await TokenVerifier.open({ keys: { keys: [] }, ...rules });
  for (const request of ['{}', '{"token":null}', '{"token":7}', 'null', '{"token":"a.b.c"}']) {
    t.is((await verifier.verify(JSON.parse(request))).kind, 'invalid');
  }
});

test('a token that is no text is told as such, even if it reads like one', async (t) => {
  using verifier = await TokenVerifier.open({ keys: { keys: [] }, ...rules });
  for (const token of [7, null, undefined, ['Bearer a.b.c'], { toString: () => 'a.b.c' }]) {
    t.like(await verifier.verify({ token } as never), { kind: 'invalid', fault: 'not-text' });
  }
});
