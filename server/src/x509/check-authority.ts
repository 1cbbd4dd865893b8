import { X509Certificate } from 'node:crypto';
import { DerReader, tags } from '@signet/policy-engine/internal/der';
import { readCertificate } from './certificate-reader.ts';
import { oids } from './oids.ts';

/*
 * Checks that a foreign authority can issue the certificates of a server (RFC 5280 §6.1.4). Its key and the order of its chain are checked by
 * `issuerFromPem`.
 */

const keyUsageBits = { keyCertSign: 0x04, cRLSign: 0x02 } as const;
const leafUsages = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'];
const anyUsage = '2.5.29.37.0';

/**
 * Reason why the authority at the head of this chain (without its root; DER) cannot issue certificates that verifiers with this root accept at
 * `now`, in seconds; undefined if it can. Throws `DerError`.
 */
export function authorityFault(chain: readonly Buffer[], root: Buffer, now: number): string | undefined {
  const last = new X509Certificate(chain.at(-1) ?? root);
  const top = new X509Certificate(root);
  if (!(last.checkIssued(top) && last.verify(top.publicKey))) return 'its chain does not reach the root';
  for (const [below, der] of [...chain, root].entries()) {
    const fault = certificateFault(der, { below, isIssuer: below === 0, isRoot: der === root }, now);
    if (fault !== undefined) return `\`${new X509Certificate(der).subject.replaceAll('\n', ', ')}\` ${fault}`;
  }
  return undefined;
}

interface Place {
  /** How many authorities are below it. */
  readonly below: number;
  readonly isIssuer: boolean;
  readonly isRoot: boolean;
}

function certificateFault(der: Buffer, { below, isIssuer, isRoot }: Place, now: number): string | undefined {
  const certificate = readCertificate(der);
  const { ca, keyUsage } = new X509Certificate(der);
  if (!ca) return 'is not an authority';
  if (now < certificate.notBefore) return 'is not valid yet';
  if (now >= certificate.notAfter) return 'has expired';
  const { extensions } = certificate;
  const length = pathLength(extensions.get(oids.basicConstraints.hex)?.value);
  if (length !== undefined && length < below) return 'allows fewer authorities below it than there are';
  const usage = extensions.get(oids.keyUsage.hex)?.value;
  const needed = isIssuer ? (['keyCertSign', 'cRLSign'] as const) : (['keyCertSign'] as const);
  const missing = usage && needed.find((name) => (usageOctet(usage) & keyUsageBits[name]) === 0);
  if (missing !== undefined) return `lacks the key usage ${missing}`;
  // In a root most verifiers ignore it; in the others it restricts the certificates below.
  if (isRoot || keyUsage === undefined || keyUsage.includes(anyUsage)) return undefined;
  const isBounded = leafUsages.some((each) => !keyUsage.includes(each));
  return isBounded ? 'has an extended key usage without serverAuth or clientAuth' : undefined;
}

/** `SEQUENCE { cA BOOLEAN, pathLenConstraint INTEGER OPTIONAL }` */
function pathLength(value: Buffer | undefined): number | undefined {
  if (value === undefined) return undefined;
  const reader = new DerReader(value).enter(tags.sequence, 'the basic constraints');
  if (reader.next(tags.boolean)) reader.content(tags.boolean, 'whether it is an authority');
  if (!reader.next(tags.integer)) return undefined;
  const octets = reader.unsigned('the path length');
  return octets.length > 1 ? Number.POSITIVE_INFINITY : octets[0];
}

/** The first eight bits of a BIT STRING, behind the number of those that are unused. */
function usageOctet(value: Buffer): number {
  return new DerReader(value).content(tags.bitString, 'the key usage')[1] ?? 0;
}
