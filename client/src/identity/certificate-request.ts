import { createPublicKey, generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import {
  bitString,
  derNull,
  element,
  octetString,
  oid,
  sequence,
  set,
  smallInteger,
  utf8String,
} from '@signet/policy-engine/internal/der';
import { SignetClientError } from '../client-errors.ts';

/** Names that a certificate request asks for. */
export interface RequestedNames {
  /** `domain.service`. */
  readonly commonName: string;
  readonly uris: readonly string[];
  readonly dnsNames: readonly string[];
  /** IP addresses, as text. */
  readonly addresses?: readonly string[];
}

/** A new key and a request for a certificate over it, both PEM. */
interface KeyAndRequest {
  readonly key: string;
  readonly request: string;
}

const makeKeys = promisify(generateKeyPair);

const version = smallInteger(0);
const commonNameType = oid('2.5.4.3');
const extensionRequest = oid('1.2.840.113549.1.9.14');
const altNameType = oid('2.5.29.17');
const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));
const rsaWithSha256 = sequence(oid('1.2.840.113549.1.1.11'), derNull);
const ed25519 = sequence(oid('1.3.101.112'));

function altNames({ uris, dnsNames, addresses = [] }: RequestedNames): Buffer {
  if (uris.length + dnsNames.length + addresses.length === 0) return Buffer.alloc(0);
  const names = [
    ...uris.map((uri) => element(0x86, Buffer.from(uri, 'latin1'))),
    ...dnsNames.map((name) => element(0x82, Buffer.from(name, 'latin1'))),
    ...addresses.map((address) => element(0x87, addressOctets(address))),
  ];
  const extension = sequence(altNameType, octetString(sequence(...names)));
  return sequence(extensionRequest, set(sequence(extension)));
}

function addressOctets(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (!isIPv6(address)) throw new SignetClientError('invalid-argument', 'addresses: one of them is not an IP address');
  // the parser of URLs writes an IPv4 end as groups
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text = '') => (text === '' ? [] : text.split(':'));
  const zeros = Array.from({ length: 8 - groups(head).length - groups(tail).length }, () => '0');
  return Buffer.from(
    [...groups(head), ...zeros, ...groups(tail)].map((group) => group.padStart(4, '0')).join(''),
    'hex',
  );
}

function signatureOf(key: KeyObject): { readonly algorithm: Buffer; readonly digest: 'sha256' | null } {
  if (key.asymmetricKeyType === 'ec') return { algorithm: ecdsaWithSha256, digest: 'sha256' };
  if (key.asymmetricKeyType === 'rsa') return { algorithm: rsaWithSha256, digest: 'sha256' };
  if (key.asymmetricKeyType === 'ed25519') return { algorithm: ed25519, digest: null };
  throw new SignetClientError('invalid-identity', 'the key is neither EC, RSA nor Ed25519');
}

/** A PKCS #10 request (RFC 2986) in PEM for these names, over and signed with a key at hand. */
export function requestWith(key: KeyObject, names: RequestedNames): string {
  const { algorithm, digest } = signatureOf(key);
  const subject = sequence(set(sequence(commonNameType, utf8String(names.commonName))));
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  const info = sequence(version, subject, spki, element(0xa0, altNames(names)));
  const signature = bitString(sign(digest, info, key));
  const text = sequence(info, algorithm, signature).toString('base64');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`;
}

/** Makes a P-256 key and a PKCS #10 request (RFC 2986) for these names, signed with it. */
export async function makeKeyAndRequest(names: RequestedNames): Promise<KeyAndRequest> {
  const { privateKey } = await makeKeys('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { key, request: requestWith(privateKey, names) };
}
