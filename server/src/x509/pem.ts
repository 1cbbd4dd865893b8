import type { Steps } from '../steps/steps.ts';

/** Characters of a line, and the octets that they stand for in base64. */
const lineLength = 64;
const lineOctets = 48;

/** Lines between two yields: some tenths of a millisecond. */
const linesAtOnce = 1000;

/** A DER message in PEM form (RFC 7468), lines of 64 characters, with a final line end. */
export function toPem(label: string, der: Buffer): string {
  return pemOf(label, linesOf(der));
}

/** The same in slices: a revocation list has megabytes. */
export function* pemInSteps(label: string, der: Buffer): Steps<string> {
  const parts: string[] = [];
  for (let at = 0; at < der.length; at += linesAtOnce * lineOctets) {
    parts.push(linesOf(der.subarray(at, at + linesAtOnce * lineOctets)));
    yield;
  }
  return pemOf(label, parts.join(''));
}

function pemOf(label: string, lines: string): string {
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}

function linesOf(octets: Buffer): string {
  const text = octets.toString('base64');
  let lines = '';
  for (let at = 0; at < text.length; at += lineLength) lines += `${text.slice(at, at + lineLength)}\n`;
  return lines;
}
