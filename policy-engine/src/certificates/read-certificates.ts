import { X509Certificate } from 'node:crypto';
import { PolicyEngineError } from '../errors.ts';
import { type CertificateInput, certificateDer } from '../token/thumbprint.ts';
import { type CertificateChain, maxIntermediates } from './certificate-chain.ts';

/** Certificates of authorities: PEM text of one or more, or certificates as programs hold them. */
export type AuthoritiesInput = CertificateInput | readonly CertificateInput[];

const pemBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Parses the certificates of authorities. Throws `PolicyEngineError('invalid-options')` when there is none or one is malformed. */
export function parseAuthorities(input: unknown, option = 'authorities'): readonly X509Certificate[] {
  const given: readonly unknown[] = Array.isArray(input) ? input : [input];
  const parsed = given.flatMap(parseAll);
  if (parsed.length > 0 && !parsed.includes(undefined)) return parsed.filter((each) => each !== undefined);
  throw new PolicyEngineError('invalid-options', `\`${option}\` must be certificates of authorities (PEM or DER)`);
}

/** Parses a certificate and what came with it: the rest of a PEM text, or the issuers that Node names. Never throws. */
export function parseChain(input: unknown): CertificateChain | undefined {
  const [leaf, ...intermediates] = typeof input === 'string' ? parseAll(input) : [parseOne(input), ...issuersOf(input)];
  if (leaf === undefined) return undefined;
  return { leaf, intermediates: intermediates.filter((each) => each !== undefined) };
}

function parseAll(input: unknown): (X509Certificate | undefined)[] {
  return typeof input === 'string' ? (input.match(pemBlock) ?? [undefined]).map(parseOne) : [parseOne(input)];
}

function parseOne(input: unknown): X509Certificate | undefined {
  if (input instanceof X509Certificate) return input;
  const der = certificateDer(input);
  try {
    return der === undefined ? undefined : new X509Certificate(der);
  } catch {
    return undefined;
  }
}

/** The issuers of a certificate of a connection, nearest first; Node ends the legacy form with one that issued itself. */
function issuersOf(input: unknown): (X509Certificate | undefined)[] {
  const issuers: (X509Certificate | undefined)[] = [];
  let last = input;
  while (issuers.length <= maxIntermediates && typeof last === 'object' && last !== null) {
    const issuer: unknown = Reflect.get(last, 'issuerCertificate');
    if (issuer === last) break;
    issuers.push(parseOne(issuer));
    last = issuer;
  }
  return issuers;
}
