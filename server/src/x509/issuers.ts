import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { ServiceUnavailableError } from '../errors.ts';
import { minLifetimeSeconds } from './certificate-profile.ts';
import { certificatesInPem, certificateToPem } from './certificate-reader.ts';
import type { Issuer } from './issuer.ts';
import { IssuerError, type IssuerFiles, issuerFromPem } from './issuer-files.ts';
import { type RootList, readRootLists } from './root-lists.ts';

/** Issuer that signs, or one that is being replaced: its certificates and lists stay, new ones come from another. */
interface IssuerSource extends IssuerFiles {
  readonly state: 'active' | 'draining';
}

/** The issuers and the roots in force at one instant. */
export interface IssuerSet {
  readonly active: readonly Issuer[];
  readonly draining: readonly Issuer[];
  /** Roots of the server's issued certificates, PEM. */
  readonly rootsPem: string;
  /** The revocation lists of those roots that have one here. */
  readonly rootLists: readonly RootList[];
}

/** Several issuers side by side, reloaded when their files change. */
export interface Issuers {
  current(): IssuerSet;
  /** The issuer for a new certificate: of the active ones, the first that lives on. `now` in seconds. Throws `ServiceUnavailableError`. */
  signing(now: number): Issuer;
  /** Reads the files again; a set that cannot be used changes nothing but the lists of roots. Answers whether something changed. */
  reload(): Promise<boolean>;
  close(): void;
}

interface IssuersDeps {
  readonly sources: readonly IssuerSource[];
  /** PEM file of the accepted roots. */
  readonly roots: string;
  /** Files of their revocation lists. */
  readonly rootLists?: readonly string[] | undefined;
  /** Addresses of their lists in certificates, with `{issuer}`. */
  readonly distributionPoints?: readonly string[] | undefined;
  readonly reloadIntervalMs: number;
  readonly onError: (error: unknown) => void;
}

interface Loaded {
  readonly digest: string;
  readonly set: IssuerSet;
}

async function readSource(source: IssuerSource): Promise<readonly [certificate: string, key: string]> {
  return Promise.all([readFile(source.certificate, 'utf8'), readFile(source.key, 'utf8')]);
}

function parseSource(
  source: IssuerSource,
  [certificate, key]: readonly [string, string],
  distributionPoints: IssuersDeps['distributionPoints'],
): Issuer {
  try {
    return issuerFromPem(certificate, key, distributionPoints);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : 'it cannot be read';
    throw new IssuerError(`issuer \`${source.certificate}\` cannot be used: ${reason}`, { cause });
  }
}

function readLists({ rootLists = [] }: IssuersDeps) {
  return Promise.all(rootLists.map(async (name) => ({ name, bytes: await readFile(name) })));
}

async function load(deps: IssuersDeps, previous: string | undefined): Promise<Loaded | undefined> {
  const roots = await readFile(deps.roots, 'utf8');
  const texts = await Promise.all(deps.sources.map(readSource));
  const lists = await readLists(deps);
  const digest = createHash('sha256')
    .update(JSON.stringify([roots, texts, lists.map(({ bytes }) => bytes.toString('base64'))]))
    .digest('base64url');
  if (digest === previous) return undefined;
  const issuers = deps.sources.map((source, index) => ({
    state: source.state,
    issuer: parseSource(source, texts[index] ?? ['', ''], deps.distributionPoints),
  }));
  const active = issuers.filter(({ state }) => state === 'active').map(({ issuer }) => issuer);
  const draining = issuers.filter(({ state }) => state === 'draining').map(({ issuer }) => issuer);
  if (active.length === 0) throw new IssuerError('no issuer is active');
  const rootsPem = certificatesInPem(roots).map(certificateToPem).join('');
  return { digest, set: { active, draining, rootsPem, rootLists: readRootLists(lists, rootsPem) } };
}

/** An authority that ended is replaced by people: callers need not ask sooner. */
const retryAfterSeconds = 60;

function noIssuer(active: readonly Issuer[], now: number): string {
  const end = Math.max(...active.map(({ notAfter }) => notAfter));
  if (active.some(({ notBefore, notAfter }) => now < notBefore && now < notAfter)) {
    return 'no certificates are issued: the issuing authority is not valid yet';
  }
  const ends = now < end ? 'ends' : 'ended';
  return `no certificates are issued: the issuing authority ${ends} at ${formatTimestamp(end * 1000)}`;
}

/** Opens the issuers. Throws `IssuerError` when one cannot be used at start; later the last good set stays in force. */
export async function openIssuers(deps: IssuersDeps): Promise<Issuers> {
  let loaded = await load(deps, undefined);
  if (loaded === undefined) throw new IssuerError('no issuer is configured');
  let { set } = loaded;
  const reload = async (): Promise<boolean> => {
    const next = await load(deps, loaded?.digest).catch(async (error: unknown) => {
      // Revocations by a root take effect even if the files of an issuer are in error.
      const rootLists = readRootLists(await readLists(deps), set.rootsPem);
      if (!isDeepStrictEqual(rootLists, set.rootLists)) set = { ...set, rootLists };
      throw error;
    });
    if (next === undefined) return false;
    loaded = next;
    set = next.set;
    return true;
  };
  const timer = setInterval(() => void reload().catch(deps.onError), deps.reloadIntervalMs);
  timer.unref();
  return {
    current: () => set,
    signing: (now) => {
      const issuer = set.active.find(
        ({ notBefore, notAfter }) => notBefore <= now && now + minLifetimeSeconds <= notAfter,
      );
      if (issuer === undefined) throw new ServiceUnavailableError(noIssuer(set.active, now), { retryAfterSeconds });
      return issuer;
    },
    reload,
    close: () => clearInterval(timer),
  };
}
