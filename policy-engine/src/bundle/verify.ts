import { decodeBase64url, decodeBase64urlInSteps, encodeBase64url } from '../base64url.ts';
import { PolicyEngineError } from '../errors.ts';
import { parseInSteps, parseStrictJson } from '../json/strict-json.ts';
import type { CryptoKey, KeySource } from '../keys/index.ts';
import type { DomainName } from '../names/index.ts';
import { type Pause, runWithPauses, type Steps } from '../steps/steps.ts';
import { type BundleCrypto, webBundleCrypto } from './bundle-crypto.ts';
import { canonicalFormOf, canonicalPolicies } from './canonical-policies.ts';
import { type BundlePayload, decodePayload } from './decode-payload.ts';
import { readLaterConditions } from './later-conditions.ts';
import { algorithmsOf, type Verify, verifySignature, wrongSignature } from './signature.ts';
import { type BundleFloor, refuseSuccessor } from './succession.ts';

/** A bundle that was found good. The times are milliseconds since the epoch. */
export interface VerifiedBundle extends BundlePayload {
  readonly domain: DomainName;
  /** The key that signed it. */
  readonly kid: string;
  /** Digest of the policies alone: the same for a renewal, under another key, and with members that this program does not know. */
  readonly digest: string;
  /** SHA-256 of the text of `policyData`, in base64url; absent for small bundles. The same text has the same digest. */
  readonly content?: string;
}

/** A bundle that was found good, but for what may follow what. */
export interface OpenedBundle extends Omit<VerifiedBundle, 'digest'> {
  /** Makes the digest, in slices: for a large bundle that takes longer than reading it, and few bundles are compared. */
  digest(): Promise<string>;
}

/** Options for the verification of a bundle. */
export interface VerifyBundleOptions {
  /** The domain that was asked for; a bundle of another one is refused. */
  domain: DomainName;
  keys: KeySource;
  /** Milliseconds since the epoch. */
  now: number;
  /** The newest bundle ever accepted: what may not follow it is refused. Default: none was accepted yet. */
  floor?: BundleFloor;
  /** Take a bundle that is past its expiry. For readers that look at `expires` at every use. Default false. */
  acceptExpired?: boolean;
  /**
   * Accepts also bundles of an Athenz server, which have no `version`, `issued` and `epoch`: ordered by `modified`, signed with ES256 (r and s,
   * or DER) or RS256, and a missing effect in them is ALLOW. Nothing changes for other bundles. Default false.
   */
  athenzBundles?: boolean;
  /** Called between slices of work, so that a large bundle does not stall the program. Default: work in one go. */
  pause?: Pause;
}

/**
 * Piece length for the JWS around the payload, which is short. A payload is passed over byte by byte up to this length, and natively from there
 * on.
 */
const jwsPieceLength = 4096;

/** Options for opening a bundle: the floor is compared later. */
type OpenBundleOptions = Omit<VerifyBundleOptions, 'floor'> & {
  /** Default: WebCrypto. */
  bundleCrypto?: BundleCrypto;
};

/** The largest bundle there may be, in bytes: none larger is made, fetched or looked at. */
export const maxBundleBytes = 33_554_432;

const noPause: Pause = () => undefined;
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Maximum lead of a bundle's time of issue over the own clock, in milliseconds. */
export const issuedSkew = 300_000;

/** The longest life that a bundle may have, from `issued` to `expires`, in milliseconds: 90 days. */
export const maxBundleLifeMs = 7_776_000_000;

/**
 * Verifies a bundle over its exact bytes: form, algorithm (ES256, signature as r and s; `athenzBundles` says what else), key of purpose
 * `bundle`, signature, then domain, times, and whether it may follow the floor. Nothing that stands outside the signed part is used. Bytes are
 * read until it has settled: they must not change before. Throws `PolicyEngineError` with a code that begins with `bundle-`, or
 * `keys-unavailable` when the keys could not be fetched.
 */
export async function verifyBundle(bytes: Uint8Array | string, options: VerifyBundleOptions): Promise<VerifiedBundle> {
  const { digest: makeDigest, ...opened } = await openBundle(bytes, options);
  const verified = { ...opened, digest: await makeDigest() };
  const refusal = refuseSuccessor(verified, options.floor);
  if (refusal !== undefined) throw refusal;
  return verified;
}

/** `verifyBundle` without a floor. */
export async function openBundle(bytes: Uint8Array | string, options: OpenBundleOptions): Promise<OpenedBundle> {
  const { domain, pause = noPause, athenzBundles = false, bundleCrypto = webBundleCrypto } = options;
  const run = <T>(steps: Steps<T>) => runWithPauses(steps, pause);
  const jws = readJws(await run(parseJson(bytesOf(bytes), { bytesOf: 'payload', pieceLength: jwsPieceLength })));
  const { kid, alg } = readHeader(jws, athenzBundles);
  const key = await findKey(options.keys, kid);
  const parts = [encoder.encode(`${jws.protected}.`), jws.payload];
  const verify: Verify = async (signature) => run(bundleCrypto.verify(parts, signature, key));
  const encoding = await verifySignature({ alg, encoded: jws.signature, key, verify }, athenzBundles);
  const payload = await run(decodeBase64urlInSteps(jws.payload));
  if (payload === undefined) throw malformed('`payload` is not base64url');
  const texts: Uint8Array[] = [];
  const onMember = (name: string | undefined, begin: number, end: number) => {
    if (name === 'policyData') texts.push(payload.subarray(begin, end));
  };
  const data = await run(decodePayload(await run(parseJson(payload, { onMember })), athenzBundles));
  if (data.origin === undefined && encoding !== 'p1363') throw wrongSignature();
  checkClaims(data, options);
  return {
    ...data,
    domain,
    kid,
    policies: data.origin === undefined ? data.policies.map(readLaterConditions) : data.policies,
    ...(texts.length > 0 && { content: await hashOf(texts, bundleCrypto, pause) }),
    digest: digestMaker(data, bundleCrypto, pause),
  };
}

async function hashOf(parts: readonly Uint8Array[], bundleCrypto: BundleCrypto, pause: Pause): Promise<string> {
  return encodeBase64url(await runWithPauses(bundleCrypto.digest(parts), pause));
}

/** Function of its own, so that its closure keeps nothing of the bundle but its policies. */
function digestMaker(
  { domain, policies, origin }: BundlePayload,
  bundleCrypto: BundleCrypto,
  pause: Pause,
): () => Promise<string> {
  return async () => {
    const text = await runWithPauses(canonicalPolicies(domain, policies, origin), pause);
    return `${canonicalFormOf(origin)}:${await hashOf(text, bundleCrypto, pause)}`;
  };
}

interface Jws {
  /** The text as it stands there: base64url, if it is valid. */
  readonly payload: Uint8Array;
  readonly protected: string;
  readonly signature: string;
  readonly outerKid: unknown;
}

function bytesOf(bundle: Uint8Array | string): Uint8Array {
  if (bundle.length > maxBundleBytes) throw malformed('it is larger than 32 MiB');
  if (typeof bundle !== 'string') return bundle;
  if (!bundle.isWellFormed()) throw malformed('it is not well-formed text');
  return encoder.encode(bundle);
}

function* parseJson(bytes: Uint8Array, options: Parameters<typeof parseInSteps>[1]): Steps<unknown> {
  try {
    return yield* parseInSteps(bytes, options);
  } catch (cause) {
    const problem = cause instanceof PolicyEngineError ? cause.message : 'it is not JSON';
    throw new PolicyEngineError('bundle-malformed', `bundle is malformed: ${problem}`, { cause });
  }
}

function readJws(value: unknown): Jws {
  if (!isRecord(value)) throw malformed('it must be an object');
  const { payload, protected: protectedHeader, signature, header, signatures, signedPolicyData } = value;
  if (signedPolicyData !== undefined && payload === undefined) {
    throw malformed('it has the older form of Athenz; only the JWS form is supported (`jwsPolicySupport` of zpu)');
  }
  const text = typeof payload === 'string' ? encoder.encode(payload) : payload;
  if (!(text instanceof Uint8Array) || typeof protectedHeader !== 'string' || typeof signature !== 'string') {
    throw malformed('`payload`, `protected` or `signature` is missing');
  }
  if (signatures !== undefined) throw malformed('it has more than one signature');
  if (header !== undefined && !isRecord(header)) throw malformed('`header` must be an object');
  return { payload: text, protected: protectedHeader, signature, outerKid: header?.['kid'] };
}

/** The members that a protected header may have; anything else could change what the signature means. */
const headerMembers: ReadonlySet<string> = new Set(['kid', 'alg', 'typ']);

/** Longest protected header, as it is written. */
const maxHeaderLength = 1024;

/** Key and algorithm of the protected header, after the header was found to be one that we understand. */
function readHeader(jws: Jws, athenzBundles: boolean): { kid: string; alg: string } {
  const bytes = jws.protected.length > maxHeaderLength ? undefined : decodeBase64url(jws.protected);
  if (bytes === undefined) throw malformed('`protected` is not base64url');
  const header = parseHeader(bytes);
  if (!isRecord(header) || Object.keys(header).some((member) => !headerMembers.has(member))) {
    throw malformed('the protected header has members that are not understood');
  }
  const { alg, kid } = header;
  const algorithms = algorithmsOf(athenzBundles);
  if (typeof alg !== 'string' || !algorithms.includes(alg)) {
    throw new PolicyEngineError('bundle-signature', `bundle is not signed with ${algorithms.join(' or ')}`);
  }
  if (typeof kid !== 'string' || kid === '') throw malformed('the protected header has no `kid`');
  if (jws.outerKid !== undefined && jws.outerKid !== kid) throw malformed('the two headers name different keys');
  return { kid, alg };
}

function parseHeader(bytes: Uint8Array): unknown {
  try {
    return parseStrictJson(decoder.decode(bytes));
  } catch (cause) {
    throw new PolicyEngineError('bundle-malformed', 'bundle is malformed: the protected header is not JSON', { cause });
  }
}

async function findKey(keys: KeySource, kid: string): Promise<CryptoKey> {
  let key: CryptoKey | undefined;
  try {
    key = await keys.find(kid, 'bundle');
  } catch (cause) {
    throw new PolicyEngineError('keys-unavailable', 'the keys that verify bundles cannot be had', { cause });
  }
  if (key === undefined) {
    throw new PolicyEngineError('bundle-key-unknown', `bundle is signed by the unknown key \`${kid.slice(0, 64)}\``);
  }
  return key;
}

function checkClaims(data: BundlePayload, options: VerifyBundleOptions): void {
  if (data.domain !== options.domain) {
    throw new PolicyEngineError('bundle-domain', `bundle is of another domain than \`${options.domain}\``);
  }
  if (data.issued > options.now + issuedSkew) {
    throw notYetValid();
  }
  // A bundle of Athenz does not say when it was issued, and its domain may not have changed for years.
  const issued = data.origin === 'athenz' ? Math.max(data.issued, options.now) : data.issued;
  if (data.expires - issued > maxBundleLifeMs) {
    throw new PolicyEngineError('bundle-lifetime', 'bundle lives longer than 90 days from its issue');
  }
  if (options.acceptExpired !== true && data.expires <= options.now) {
    throw new PolicyEngineError('bundle-expired', 'bundle is past its expiry; is the clock of this host right?');
  }
}

/** Assumed lifetime of an Athenz bundle, in milliseconds: the default of an Athenz server, 7 days. */
const athenzLifeMs = 604_800_000;

/** Time from which a bundle should be replaced by a whole new one: in the last quarter of its life. Milliseconds since the epoch. */
export function freshUntil({ origin, issued, expires }: Pick<BundlePayload, 'origin' | 'issued' | 'expires'>): number {
  const start = origin === 'athenz' ? Math.max(issued, expires - athenzLifeMs) : issued;
  return start + (expires - start) * 0.75;
}

/** The error of a bundle from further ahead than clocks differ. */
export function notYetValid(): PolicyEngineError {
  return new PolicyEngineError(
    'bundle-not-yet-valid',
    'bundle was issued in the future; is the clock of this host right?',
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(what: string): PolicyEngineError {
  return new PolicyEngineError('bundle-malformed', `bundle is malformed: ${what}`);
}
