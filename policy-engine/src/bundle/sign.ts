import { createSign, type KeyObject } from 'node:crypto';
import { decodeBase64url, encodeBase64url } from '../base64url.ts';
import { sequence, unsigned } from '../der/der-writer.ts';
import { PolicyEngineError } from '../errors.ts';
import { jsonPieces } from '../json/json-pieces.ts';
import type { CryptoKey } from '../keys/index.ts';
import { type Pause, runWithPauses, type Steps } from '../steps/steps.ts';
import type { JwsPolicyData, SignedPolicyData } from '../wire/index.ts';

/** A P-256 private key and the name under which its public half is published. */
export interface BundleSigningKey {
  kid: string;
  privateKey: KeyObject | CryptoKey;
}

/** JWS type of a bundle, for readers that know more than one kind of signed object (RFC 8725 §3.11). */
const bundleType = 'signet-bundle+jws';

/**
 * `rfc7515`: what any JWS library verifies, with a `typ`. The others are those of Athenz, whose readers want `kid` in a second
 * header: with a signature as r and s (`p1363`), or in DER for old ones.
 */
export type BundleForm = 'rfc7515' | 'p1363' | 'der';

interface Signer {
  update(text: Uint8Array): void;
  sign(): Promise<Uint8Array>;
}

const encoder = new TextEncoder();

/** Bytes of the payload between two yields; what is made base64url by itself is a multiple of three. */
const sliceLength = 49_152;

/** Bytes of base64url that are one part. */
const partLength = 1_048_576;

/** A signed bundle whose payload is not one string: copying 16 MiB into one holds the thread for as long as encoding all of them. */
export interface BundleInParts {
  /** Base64url in ASCII, at most 1 MiB each. */
  readonly payload: readonly Uint8Array[];
  /** The other members. */
  readonly rest: Omit<JwsPolicyData, 'payload'>;
}

/**
 * Signs a payload as flattened JWS JSON with ES256 (docs/reference/policy-bundles.md#forms). `pause` is called between slices of work, so
 * that a large bundle does not stall the program; by default it is one piece of work.
 * Throws `PolicyEngineError('invalid-options')` for a key that is not on P-256.
 */
export async function signBundle(
  data: SignedPolicyData,
  key: BundleSigningKey,
  form: BundleForm = 'p1363',
  pause: Pause = () => undefined,
): Promise<JwsPolicyData> {
  const { payload, rest } = await signBundleInParts(data, key, form, pause);
  return { payload: Buffer.concat(payload).toString('latin1'), ...rest };
}

/** `signBundle`, with the payload in parts. */
export async function signBundleInParts(
  data: SignedPolicyData,
  key: BundleSigningKey,
  form: BundleForm,
  pause: Pause,
): Promise<BundleInParts> {
  const signer = signerWith(key.privateKey);
  const protectedHeader = encodeBase64url(encoder.encode(JSON.stringify(headerOf(key.kid, form))));
  signer.update(encoder.encode(`${protectedHeader}.`));
  const payload = await runWithPauses(encodeInSteps(data), pause);
  for (const part of payload) {
    signer.update(part);
    await pause();
  }
  const rest = {
    protected: protectedHeader,
    ...(form !== 'rfc7515' && { header: { kid: key.kid } }),
    signature: encodeBase64url(await signer.sign()),
  };
  return { payload, rest: form === 'der' ? withDerSignature(rest) : rest };
}

/** The JSON of the payload in base64url. */
function* encodeInSteps(data: SignedPolicyData): Steps<Uint8Array[]> {
  const bytes = Buffer.allocUnsafe(sliceLength);
  const parts: Uint8Array[] = [];
  let part = Buffer.allocUnsafeSlow(partLength);
  let [filled, written] = [0, 0];
  const takeWhole = (length: number) => {
    written += part.write(bytes.toString('base64url', 0, length), written, 'latin1');
    bytes.copyWithin(0, length, filled);
    filled -= length;
    if (written + (sliceLength / 3) * 4 <= partLength) return;
    parts.push(part.subarray(0, written));
    part = Buffer.allocUnsafeSlow(partLength);
    written = 0;
  };
  for (const piece of jsonPieces(data)) {
    for (let rest = piece; rest !== ''; ) {
      const { read, written: added } = encoder.encodeInto(rest, bytes.subarray(filled));
      filled += added;
      rest = rest.slice(read);
      if (rest === '') break;
      takeWhole(filled - (filled % 3));
      yield;
    }
  }
  takeWhole(filled);
  // A copy: most bundles are far smaller than a part.
  parts.push(Buffer.from(part.subarray(0, written)));
  yield;
  return parts;
}

/** Same text as `JSON.stringify` of the bundle, in parts: base64url needs no escapes. */
export function bundleText({ payload, rest }: BundleInParts): Uint8Array[] {
  return [encoder.encode('{"payload":"'), ...payload, encoder.encode(`",${JSON.stringify(rest).slice(1)}`)];
}

/** The same bundle for old readers: with the one signature that it has, in DER. The bundle must have it as r and s, as `signBundle` makes it. */
export function withDerSignature<Bundle extends Pick<JwsPolicyData, 'signature'>>(bundle: Bundle): Bundle {
  const signature = decodeBase64url(bundle.signature);
  if (signature?.length !== 64) {
    throw new PolicyEngineError('invalid-options', 'the signature must be r and s of P-256, 32 bytes each');
  }
  return { ...bundle, signature: encodeBase64url(derSignature(signature)) };
}

function headerOf(kid: string, form: BundleForm): object {
  return form === 'rfc7515' ? { kid, alg: 'ES256', typ: bundleType } : { kid, alg: 'ES256' };
}

/** Signer for a key, which takes payloads in the form they come. Throws `PolicyEngineError('invalid-options')`. */
function signerWith(key: KeyObject | CryptoKey): Signer {
  if ('algorithm' in key) return platformSigner(key);
  if (key.type !== 'private' || key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') {
    throw new PolicyEngineError('invalid-options', 'the signing key is not a P-256 private key');
  }
  const sign = createSign('SHA256');
  return {
    update: (text) => sign.update(text),
    sign: async () => sign.sign({ key, dsaEncoding: 'ieee-p1363' }),
  };
}

/** A key of the platform signs what is there as a whole. */
function platformSigner(key: CryptoKey): Signer {
  const parts: Uint8Array[] = [];
  return {
    update: (text) => parts.push(new Uint8Array(text)),
    async sign() {
      const signed = Buffer.concat(parts);
      return new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, signed));
    },
  };
}

/** Converts r and s side by side to `SEQUENCE { INTEGER r, INTEGER s }`. */
function derSignature(p1363: Uint8Array): Uint8Array {
  return sequence(unsigned(p1363.subarray(0, p1363.length / 2)), unsigned(p1363.subarray(p1363.length / 2)));
}
