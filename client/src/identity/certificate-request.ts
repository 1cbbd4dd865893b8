import { generateKeyPair, type KeyObject, sign } from 'node:crypto';
import { promisify } from 'node:util';

/** What a certificate is asked for. */
export interface RequestedNames {
  /** `domain.service`. */
  readonly commonName: string;
  readonly uris: readonly string[];
  readonly dnsNames: readonly string[];
}

/** A new key and a request for a certificate over it, both PEM. */
export interface KeyAndRequest {
  readonly key: string;
  readonly request: string;
}

const makeKeys = promisify(generateKeyPair);

/* DER (X.690) as far as a request needs it. */
function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const header =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(header), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => element(0x30, ...parts);
const set = (...parts: readonly Uint8Array[]) => element(0x31, ...parts);
const hex = (text: string) => Buffer.from(text, 'hex');

const version = hex('020100');
const commonNameType = hex('0603550403');
const extensionRequest = hex('06092a864886f70d01090e');
const altNameType = hex('0603551d11');
const ecdsaWithSha256 = sequence(hex('06082a8648ce3d040302'));

function altNames({ uris, dnsNames }: RequestedNames): Buffer {
  const names = [
    ...uris.map((uri) => element(0x86, Buffer.from(uri, 'latin1'))),
    ...dnsNames.map((name) => element(0x82, Buffer.from(name, 'latin1'))),
  ];
  const extension = sequence(altNameType, element(0x04, sequence(...names)));
  return sequence(extensionRequest, set(sequence(extension)));
}

function buildRequest(publicKey: KeyObject, privateKey: KeyObject, names: RequestedNames): string {
  const subject = sequence(set(sequence(commonNameType, element(0x0c, Buffer.from(names.commonName, 'utf8')))));
  const info = sequence(
    version,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa0, altNames(names)),
  );
  const signature = element(0x03, Buffer.of(0), sign('sha256', info, privateKey));
  const text = sequence(info, ecdsaWithSha256, signature).toString('base64');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${text.replace(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`;
}

/** Makes a P-256 key and a PKCS #10 request (RFC 2986) for these names, signed with it. */
export async function makeKeyAndRequest(names: RequestedNames): Promise<KeyAndRequest> {
  const { publicKey, privateKey } = await makeKeys('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return { key, request: buildRequest(publicKey, privateKey, names) };
}
