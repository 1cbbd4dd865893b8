import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import { internals } from '../limits/row.ts';

/* Paths of C2SP/x509-limbo, in its form for client certificates, against the rules of RFC 5280 §6.1 that are evaluated here. */

interface Case {
  readonly id: string;
  readonly trusted_certs: readonly string[];
  readonly untrusted_intermediates: readonly string[];
  readonly peer_certificate: string;
  readonly validation_time: string | null;
  readonly expected_result: 'SUCCESS' | 'FAILURE';
}

const { issuedUntil, isWithinDates } = await internals<{
  issuedUntil(chain: object, authorities: readonly X509Certificate[], now: number): number | undefined;
  isWithinDates(certificate: X509Certificate, now: number): boolean;
}>('policy-engine/src/certificates/certificate-chain.ts');

/** Groups that are accepted although limbo refuses them, by the beginning of their names, and the reason. */
const acceptedHere: readonly (readonly [string, string])[] = [
  ['crl::', 'revocation lists are for TLS, whose refusal is final, and for the thumbprints of the server'],
  ['pathlen::max-chain-depth-', 'the depth is an option of the caller of limbo; here it is eight intermediates'],
  ['rfc5280::eku::ee-wrong-eku', 'the certificate is for clients; limbo asks for a server in both forms'],
  [
    'rfc5280::aki::leaf-missing-aki',
    'a duty of issuers: §6.1 does not look at it, and the signature identifies the key',
  ],
  ['rfc5280::aki::intermediate-missing-aki', 'as above'],
  ['rfc5280::aki::cross-signed-root-missing-aki', 'as above'],
  ['rfc5280::ski::root-missing-ski', 'as above'],
  ['rfc5280::ski::intermediate-missing-ski', 'as above'],
  ['webpki::aki::', 'as above; rules of the CA/Browser Forum for its roots'],
  ['rfc5280::root-non-critical-basic-constraints', 'a duty of issuers: §6.1.4 (k) does not look at the flag'],
  ['rfc5280::ca-empty-subject', 'a duty of issuers: §6.1 compares names, empty ones too'],
  ['rfc5280::serial::', 'a duty of issuers: §6.1 uses serial numbers for revocation alone'],
  ['rfc5280::san::', 'names are read by the caller, which compares whole names or thumbprints'],
  ['webpki::san::', 'as above; the names of servers'],
  ['webpki::cn::', 'as above'],
  ['webpki::eku::', 'rules of the CA/Browser Forum: a private authority need not narrow the usage'],
  ['webpki::malformed-aia', 'an extension that is not critical and not used'],
];

/** Refused although limbo accepts them. */
const refusedHere: readonly (readonly [string, string])[] = [
  ['rfc5280::nc::', 'name constraints are not evaluated: who has them proves nothing, anchors too'],
  ['webpki::nc::', 'as above'],
  ['cve::cve-2024-0567', 'nine intermediates, one more than are looked at'],
  ['pathlen::validation-ignores-pathlen-in-leaf', 'the leaf is an authority'],
  ['rfc5280::ca-as-leaf', 'the leaf is an authority'],
  ['rfc5280::validity::notafter-fractional', 'the time has milliseconds: a certificate ends with its last second'],
];

const file = new URL('../../../shared/judges/x509-limbo/client-auth.json', import.meta.url);

function isAccepted(limbo: Case): boolean {
  const now = parseTimestamp(limbo.validation_time?.replace('+00:00', 'Z') ?? '2026-11-27T00:00:00Z');
  if (now === undefined) throw new Error(`${limbo.id}: ${limbo.validation_time} is not a time`);
  try {
    const leaf = new X509Certificate(limbo.peer_certificate);
    const intermediates = limbo.untrusted_intermediates.map((pem) => new X509Certificate(pem));
    const anchors = limbo.trusted_certs.map((pem) => new X509Certificate(pem));
    return issuedUntil({ leaf, intermediates }, anchors, now) !== undefined && isWithinDates(leaf, now);
  } catch {
    return false;
  }
}

if (existsSync(file)) {
  const { testcases }: { testcases: readonly Case[] } = JSON.parse(readFileSync(file, 'utf8'));

  test('what limbo refuses is refused, and what it accepts is accepted, but for groups with a reason', (t) => {
    const others = testcases.filter((limbo) => isAccepted(limbo) !== (limbo.expected_result === 'SUCCESS'));
    const groups = [...acceptedHere, ...refusedHere].map(([prefix]) => prefix);
    const without = others.filter(({ id }) => !groups.some((prefix) => id.startsWith(prefix)));
    t.deepEqual(
      without.map(({ id }) => id),
      [],
    );
    for (const prefix of groups)
      t.true(
        others.some(({ id }) => id.startsWith(prefix)),
        `no reason for ${prefix}`,
      );
  });

  test('no case about rules of paths or weak keys is accepted', (t) => {
    const about =
      /::nc::|::pc::|^pathlen::|nc-dos|unknown-critical|critical-aki|critical-ski|critical-aia|keycertsign|forbidden-|explicit-curve|v1-cert|basicconstraints-ca|ca-as-leaf/;
    const cases = testcases.filter(
      ({ id, expected_result }) =>
        expected_result === 'FAILURE' && about.test(id) && !id.startsWith('pathlen::max-chain-depth'),
    );
    t.true(cases.length > 40);
    t.deepEqual(
      cases.filter(isAccepted).map(({ id }) => id),
      [],
    );
  });
} else {
  test('skipped: the cases of x509-limbo are not here', (t) => t.pass());
}
