import { fileURLToPath } from 'node:url';
import { createAuthority, type Identity, issueIdentity } from './certificates.ts';
import type { Target } from './load.ts';

/** A server that can be started and the requests that it is to answer. */
export interface Contender {
  readonly name: string;
  /** Arguments of Node. */
  readonly args: readonly string[];
  readonly token: (baseUrl: string) => Target;
  readonly unchanged?: (baseUrl: string, etag: string) => Target;
  readonly bundle?: (baseUrl: string) => Target;
}

export const peerNames = {
  bare: '(a) bare node:https',
  koa: '(b) Koa that only signs',
  lean: "(b') Koa without router and parser",
  oidc: '(c) oidc-provider',
};

const connections = 8;

const formHeaders = { 'content-type': 'application/x-www-form-urlencoded' };

/** The request for all roles in `catalog` with which every server but (c) is asked. */
export const allRolesForm = 'grant_type=client_credentials&scope=catalog%3Adomain';

const namedRolesForm =
  'grant_type=client_credentials&client_id=media.studio&scope=catalog%3Arole.reader+catalog%3Arole.editor';

export function getTarget(
  base: Omit<Target, 'method' | 'url' | 'headers' | 'expect'>,
  url: string,
  etag?: string,
): Target {
  return {
    ...base,
    url,
    method: 'GET',
    headers: etag === undefined ? {} : { 'if-none-match': etag },
    expect: etag === undefined ? 200 : 304,
  };
}

export function formTarget(
  base: Omit<Target, 'method' | 'url' | 'headers' | 'expect'>,
  url: string,
  body: string,
): Target {
  const headers = { ...formHeaders, 'content-length': String(body.length) };
  return { ...base, url, method: 'POST', headers, body, expect: 200 };
}

/** The four peers, with certificates of an authority made for this run. */
export async function createPeers(folder: string): Promise<readonly Contender[]> {
  const authority = await createAuthority();
  const server = await issueIdentity(authority, 'benchmark.server', folder);
  const caller = await issueIdentity(authority, 'media.studio', folder);
  const base = baseOf(caller, server.certificateFile);
  const args = (script: string): readonly string[] => [
    '--conditions=@signet/source',
    fileURLToPath(new URL(`./servers/${script}`, import.meta.url)),
    server.certificateFile,
    server.keyFile,
    server.certificateFile,
    caller.certificateFile,
  ];
  const tokenOf = (form: string) => (baseUrl: string) => formTarget(base, `${baseUrl}/v1/oauth2/token`, form);
  const bundleUrl = (baseUrl: string): string => `${baseUrl}/v1/domain/catalog/policy/signed`;
  return [
    { name: peerNames.bare, args: args('bare.ts'), token: tokenOf(allRolesForm) },
    {
      name: peerNames.koa,
      args: args('koa-signs.ts'),
      token: tokenOf(allRolesForm),
      bundle: (baseUrl) => getTarget(base, bundleUrl(baseUrl)),
      unchanged: (baseUrl, etag) => getTarget(base, bundleUrl(baseUrl), etag),
    },
    { name: peerNames.lean, args: args('koa-lean.ts'), token: tokenOf(allRolesForm) },
    { name: peerNames.oidc, args: args('oidc.ts'), token: tokenOf(namedRolesForm) },
  ];
}

/** The parts of a target that do not change: who calls, whom it trusts, over how many connections. The issuer stands in the chain file. */
export function baseOf(caller: Identity, caFile: string): Omit<Target, 'method' | 'url' | 'headers' | 'expect'> {
  return { certificateFile: caller.certificateFile, keyFile: caller.keyFile, caFile, connections };
}
