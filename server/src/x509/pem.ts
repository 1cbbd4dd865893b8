import { runAtOnce, type Steps } from '../steps/steps.ts';

/** Octets of a line of 64 characters in base64. */
const lineOctets = 48;

/** Lines between two yields: some tenths of a millisecond. */
const linesAtOnce = 1000;

/** A DER message in PEM form (RFC 7468), lines of 64 characters, with a final line end. */
export function toPem(label: string, der: Buffer): string {
  return runAtOnce(pemInSteps(label, der));
}

/** The same in slices: a revocation list has megabytes. */
export function* pemInSteps(label: string, der: Buffer): Steps<string> {
  const parts: string[] = [];
  for (let at = 0; at < der.length; at += linesAtOnce * lineOctets) {
    parts.push(linesOf(der.subarray(at, at + linesAtOnce * lineOctets)));
    yield;
  }
  return `-----BEGIN ${label}-----\n${parts.join('')}-----END ${label}-----\n`;
}

function linesOf(octets: Buffer): string {
  let lines = '';
  for (let at = 0; at < octets.length; at += lineOctets) {
    lines += `${octets.toString('base64', at, at + lineOctets)}\n`;
  }
  return lines;
}
