import { generateKeyPairSync, sign } from 'node:crypto';
import { bitString, element, octetString, oid, sequence, set, utf8String } from '@signet/policy-engine/internal/der';

/** A request with a P-256 key, PEM; by default a new one, and with the URI of an instance. */
export function benchRequest(
  commonName: string,
  dnsName?: string,
  spiffeId = `spiffe://signet.bench/ns/default/sa/${commonName}`,
  { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' }),
): string {
  const uri = element(0x86, Buffer.from(spiffeId));
  const dns = dnsName === undefined ? [] : [element(0x82, Buffer.from(dnsName))];
  const names = sequence(oid('2.5.29.17'), octetString(sequence(uri, ...dns)));
  const info = sequence(
    element(0x02, Buffer.of(0)),
    sequence(set(sequence(oid('2.5.4.3'), utf8String(commonName)))),
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa0, sequence(oid('1.2.840.113549.1.9.14'), set(sequence(names)))),
  );
  const der = sequence(info, sequence(oid('1.2.840.10045.4.3.2')), bitString(sign('sha256', info, privateKey)));
  const text = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text}\n-----END CERTIFICATE REQUEST-----\n`;
}
