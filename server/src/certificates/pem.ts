/** Octets of a line of 64 characters in base64. */
const lineOctets = 48;

/** A DER message in PEM form (RFC 7468), lines of 64 characters, with a final line end. */
export function toPem(label: string, der: Buffer): string {
  let lines = '';
  for (let at = 0; at < der.length; at += lineOctets) lines += `${der.toString('base64', at, at + lineOctets)}\n`;
  return `-----BEGIN ${label}-----\n${lines}-----END ${label}-----\n`;
}
