import { readFile } from 'node:fs/promises';
import type { Clock } from '@signet/policy-engine/clock';
import type { CompactVerifyGetKey } from 'jose';
import { boundedFetch } from '../base/bounded-fetch.ts';
import type { ServerConfig } from '../config/config.ts';
import type { HttpServerDeps } from '../http/server.ts';
import { keysOfFile } from '../instances/attestation/jwt-keys.ts';
import type { IssueRecordedDeps } from '../people/issue-recorded.ts';
import { discoveredKeys } from '../people/issuer-keys.ts';
import type { LoginIssuer } from '../people/log-in.ts';

type LoginIssuerConfig = ServerConfig['people']['issuers'][number];

/** Dependencies of the login of people. Throws when a file of an issuer cannot be read. */
export async function loginParts(
  { people }: Pick<ServerConfig, 'people'>,
  issuing: IssueRecordedDeps,
): Promise<Pick<NonNullable<HttpServerDeps['identity']>, 'login' | 'loginMetadata'>> {
  const { clock } = issuing;
  const loginIssuers = new Map<string, LoginIssuer>();
  for (const issuer of people.issuers) {
    loginIssuers.set(issuer.issuer, { ...issuer, keys: await keysOf(issuer, clock) });
  }
  const issuers = people.issuers.map(({ issuer, clientId, scopes }) => ({ issuer, clientId, scopes }));
  return {
    login: { ...issuing, loginIssuers, loginSeconds: people.loginExpirySeconds },
    loginMetadata: { issuers },
  };
}

async function keysOf({ issuer, keysFile, ca }: LoginIssuerConfig, clock: Clock): Promise<CompactVerifyGetKey> {
  if (keysFile !== undefined) return keysOfFile(keysFile, clock);
  return discoveredKeys(issuer, boundedFetch(ca && (await readFile(ca, 'utf8'))), clock);
}
