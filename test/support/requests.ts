import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { bitString, element, octetString, oid, sequence, set, utf8String } from '@signet/policy-engine/internal/der';

/** A key pair to ask certificates for. */
export interface Pair {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

export function ecPair(namedCurve = 'P-256'): Pair {
  return generateKeyPairSync('ec', { namedCurve });
}

const names = { dns: 0x82, uri: 0x86, email: 0x81, ip: 0x87, directory: 0xa4 } as const;

export type RequestedName = readonly [kind: keyof typeof names, value: string | Buffer];

export interface RequestShape {
  readonly commonNames?: readonly string[];
  /** Relative names that follow the common names. */
  readonly moreSubject?: readonly Buffer[];
  readonly altNames?: readonly RequestedName[];
  /** Extensions that follow the alternative names. */
  readonly moreExtensions?: readonly Buffer[];
  /** Attributes that follow the extension request. */
  readonly moreAttributes?: readonly Buffer[];
  /** In place of the key's own SubjectPublicKeyInfo. */
  readonly spki?: Buffer;
  readonly signer?: KeyObject;
  /** Dotted identifier of the signature algorithm. */
  readonly algorithm?: string;
  readonly digest?: string | null;
}

export function commonName(text: string): Buffer {
  return set(sequence(oid('2.5.4.3'), utf8String(text)));
}

function altNamesExtension(asked: readonly RequestedName[]): Buffer {
  const list = asked.map(([kind, value]) =>
    element(names[kind], typeof value === 'string' ? Buffer.from(value) : value),
  );
  return sequence(oid('2.5.29.17'), octetString(sequence(...list)));
}

/** A request in DER, well formed unless its shape says otherwise. P-256 keys unless the shape names another algorithm. */
export function requestDer(pair: Pair, shape: RequestShape): Buffer {
  const subject = sequence(...(shape.commonNames ?? []).map(commonName), ...(shape.moreSubject ?? []));
  const extensions = [
    ...(shape.altNames === undefined ? [] : [altNamesExtension(shape.altNames)]),
    ...(shape.moreExtensions ?? []),
  ];
  const attributes = [
    ...(extensions.length === 0 ? [] : [sequence(oid('1.2.840.113549.1.9.14'), set(sequence(...extensions)))]),
    ...(shape.moreAttributes ?? []),
  ];
  const spki = shape.spki ?? pair.publicKey.export({ type: 'spki', format: 'der' });
  const info = sequence(element(0x02, Uint8Array.of(0)), subject, spki, element(0xa0, ...attributes));
  const signature = sign(shape.digest === undefined ? 'sha256' : shape.digest, info, shape.signer ?? pair.privateKey);
  return sequence(info, sequence(oid(shape.algorithm ?? '1.2.840.10045.4.3.2')), bitString(signature));
}

export function toPem(der: Uint8Array, label = 'CERTIFICATE REQUEST'): string {
  const lines = Buffer.from(der)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/** A request in PEM form. */
export function requestPem(pair: Pair, shape: RequestShape): string {
  return toPem(requestDer(pair, shape));
}
