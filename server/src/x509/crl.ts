import { bitString, element, sequence, unsigned } from '@signet/policy-engine/internal/der';
import { runInSlices, yieldToOthers } from '@signet/policy-engine/internal/slices';
import type { RevocationReason, RevokedCertificate } from '../model/certificate-store.ts';
import { extension } from './build-certificate.ts';
import { writeTime } from './certificate-times.ts';
import { type Issuer, signAs, signatureOf } from './issuer.ts';
import { oids } from './oids.ts';
import { pemInSteps } from './pem.ts';

const reasonCodes: Readonly<Record<RevocationReason, number>> = {
  unspecified: 0,
  'key-compromise': 1,
  'affiliation-changed': 3,
  superseded: 4,
  'cessation-of-operation': 5,
};

function reasonExtensions(code: number): Buffer {
  return sequence(extension(oids.crlReason, false, element(0x0a, Uint8Array.of(code))));
}

/* Reason codes; `unspecified` is expressed by leaving the extension out (RFC 5280 §5.3.1). */
const reasonParts = new Map<RevocationReason, Buffer>(
  (['key-compromise', 'affiliation-changed', 'superseded', 'cessation-of-operation'] as const).map((reason) => [
    reason,
    reasonExtensions(reasonCodes[reason]),
  ]),
);

function octetsOf(number: bigint): Buffer {
  const digits = number.toString(16);
  return Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex');
}

function entry(revoked: RevokedCertificate): Buffer {
  const reason = reasonParts.get(revoked.reason);
  const serial = unsigned(
    Buffer.from(revoked.serial.padStart(revoked.serial.length + (revoked.serial.length % 2), '0'), 'hex'),
  );
  const at = writeTime(revoked.revokedAt);
  return reason === undefined ? sequence(serial, at) : sequence(serial, at, reason);
}

const version2 = element(0x02, Uint8Array.of(1));

interface CrlInput {
  readonly revoked: readonly RevokedCertificate[];
  /** Entries of an earlier list, as they stand there; they come first. */
  readonly kept?: readonly Buffer[];
  /** Number, which grows with every list of an issuer (RFC 5280 §5.2.3). */
  readonly number: bigint;
  /** Seconds since the epoch. */
  readonly thisUpdate: number;
  readonly nextUpdate: number;
}

/** Entries per slice, which take about a millisecond. */
const entriesAtOnce = 500;

/** Entries in pieces; requests are answered in between. */
async function writeEntries(revoked: readonly RevokedCertificate[]): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = [];
  for (let start = 0; start < revoked.length; start += entriesAtOnce) {
    pieces.push(Buffer.concat(revoked.slice(start, start + entriesAtOnce).map(entry)));
    await yieldToOthers();
  }
  return pieces;
}

/** A signed certificate revocation list of version 2 (RFC 5280 §5) in DER. */
export async function buildCrl(issuer: Issuer, input: CrlInput): Promise<Buffer> {
  const { algorithm } = signatureOf[issuer.kind];
  const parts = [version2, algorithm, issuer.name, writeTime(input.thisUpdate), writeTime(input.nextUpdate)];
  /* The list is absent, not empty, when nothing is revoked (§5.1.2.6). */
  const entries = [...(input.kept ?? []), ...(await writeEntries(input.revoked))];
  if (entries.length > 0) parts.push(sequence(...entries));
  const authority = extension(oids.authorityKeyIdentifier, false, sequence(element(0x80, issuer.keyIdentifier)));
  const number = extension(oids.crlNumber, false, unsigned(octetsOf(input.number)));
  parts.push(element(0xa0, sequence(authority, number)));
  const tbs = sequence(...parts);
  return sequence(tbs, algorithm, bitString(signAs(issuer, tbs)));
}

/** Number of the list after the one with the number `last`: the time, so that it also grows when the last published one is unknown. */
export function nextCrlNumber(last: bigint, now: number): bigint {
  return last < BigInt(now) ? BigInt(now) : last + 1n;
}

/** Lead of a list's start over its issue, for readers' clocks that are behind. */
export const crlBackdateSeconds = 300;

/** A DER revocation list in PEM form. */
export function crlToPem(der: Buffer): Promise<string> {
  return runInSlices(pemInSteps('X509 CRL', der));
}
