import { createPrivateKey, X509Certificate } from 'node:crypto';
import {
  fullRoleName,
  parseDomainName,
  parsePrincipalName,
  parseRoleName,
  splitPrincipal,
} from '@signet/policy-engine/names';
import { parseArguments, wholeNumber } from './arguments.ts';
import { SignetClientError } from './client-errors.ts';
import { decodeObject, malformed, stringMember } from './decode.ts';
import type { Http } from './http/http.ts';
import type { Identity } from './http/identity.ts';
import { makeKeyAndRequest, type RequestedNames, requestWith } from './identity/certificate-request.ts';
import { commonName } from './roles.ts';

/** A request for a role certificate. */
export interface RoleCertificateQuery {
  readonly domain: string;
  /** Short name of the role. */
  readonly role: string;
  /** Asked-for life in seconds; without it the server's default (30 days). The server lowers it to what is allowed. */
  readonly expiresIn?: number;
  /** A PKCS #10 request in PEM over a key of your own; its CN is `<domain>:role.<role>`. Without it a key is made. */
  readonly csr?: string;
  readonly signal?: AbortSignal;
}

/** A certificate with those of its issuers, PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  /** Milliseconds since the epoch. */
  readonly notAfter: number;
}

/** A role certificate, and its key where one was made. */
export interface RoleCertificate extends IssuedCertificate {
  /** The key that was made for it, PEM; absent when the request was yours. */
  readonly key?: string;
}

/** A request for a certificate of the client's own service. `expiresIn` is in seconds. */
export interface ServiceCertificateQuery {
  readonly expiresIn?: number;
  /** Version of the registered public key that the client's key is the private half of. */
  readonly keyId?: string;
  readonly signal?: AbortSignal;
}

/** An operator's request for a certificate of another principal. */
export interface PrincipalCertificateQuery {
  /** `user.<name>`, or a service `domain.service`. */
  readonly principal: string;
  /** Asked-for life in seconds; without it the server's default (7 days). The server lowers it to what is allowed. */
  readonly expiresIn?: number;
  /** A PKCS #10 request in PEM over a key of theirs; its CN is the principal. Without it a key is made. */
  readonly csr?: string;
  readonly signal?: AbortSignal;
}

/** A certificate for a principal, its key where one was made, and what the server trusts. */
export interface PrincipalCertificate extends RoleCertificate {
  /** The certificates of the issuers up to the roots, PEM. */
  readonly issuers: string;
}

/** Certificates for what the caller is, and for the roles that it holds. */
export class Certificates {
  readonly #http: Http;
  readonly #identity: () => Promise<Identity>;

  constructor(http: Http, identity: () => Promise<Identity>) {
    this.#http = http;
    this.#identity = identity;
  }

  /** `POST /domain/{domainName}/role/{roleName}/token`. Throws `refused` with 403 when the caller does not hold the role. */
  async role(query: RoleCertificateQuery): Promise<RoleCertificate> {
    const [domain, role] = parseArguments(() => [
      parseDomainName(query.domain, 'domain'),
      parseRoleName(query.role, 'role'),
    ]);
    const names: RequestedNames = { commonName: fullRoleName(domain, role), uris: [], dnsNames: [] };
    const made = query.csr === undefined ? await makeKeyAndRequest(names) : undefined;
    const path = ['domain', domain, 'role', role, 'token'];
    const answer = await this.#post(path, { csr: made?.request ?? query.csr, expiryTime: life(query) }, query.signal);
    const issued = readIssued(stringMember(answer, 'token'));
    return made === undefined ? issued : { ...issued, key: made.key };
  }

  /**
   * `POST /principal/{principal}/certificate`: a certificate for a person or a service. Throws `refused` with 403 unless the caller may
   * `issue_certificate` on `sys.auth:principal.<principal>`.
   */
  async issue(query: PrincipalCertificateQuery): Promise<PrincipalCertificate> {
    const principal = parseArguments(() => parsePrincipalName(query.principal, 'principal'));
    const names: RequestedNames = { commonName: principal, uris: [], dnsNames: [] };
    const made = query.csr === undefined ? await makeKeyAndRequest(names) : undefined;
    const body = { csr: made?.request ?? query.csr, expiryTime: life(query) };
    const answer = await this.#post(['principal', principal, 'certificate'], body, query.signal);
    const issued = readIssued(stringMember(answer, 'certificate'));
    const issuers = stringMember(answer, 'caCertBundle');
    if (made === undefined) return { ...issued, issuers };
    requireOwn(issued.certificate, principal, made.key);
    return { ...issued, issuers, key: made.key };
  }

  /**
   * `POST /instance/{domain}/{service}/refresh`: a new certificate for the caller itself, with its names and its key. Nothing is
   * written: `openIdentityAgent` keeps files. Throws `refused` when the server does not know the key.
   */
  async service(query: ServiceCertificateQuery = {}): Promise<IssuedCertificate> {
    const { certificate, key, subject } = await this.#identity();
    const name = commonName(subject);
    const parts = parseArguments(() => splitPrincipal(parsePrincipalName(name, 'principal')));
    if (parts === undefined) throw new SignetClientError('invalid-identity', 'the certificate names no service');
    if (parts.domain === 'user') {
      const help = 'get the next certificate from an operator (`signet identity issue`) or with `signet login`';
      throw new SignetClientError(
        'invalid-identity',
        `\`${name}\` is a person, and only services can renew their certificate: ${help}`,
      );
    }
    const csr = requestWith(createPrivateKey(key), { commonName: name, ...altNamesOf(certificate) });
    const body = { csr, expiryTime: life(query), keyId: query.keyId };
    const answer = await this.#post(['instance', parts.domain, parts.service, 'refresh'], body, query.signal);
    return readIssued(stringMember(answer, 'certificate'));
  }

  async #post(path: readonly string[], body: object, signal: AbortSignal | undefined) {
    const answer = await this.#http.send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    });
    return decodeObject(answer.body);
  }
}

function life({ expiresIn }: { readonly expiresIn?: number }): number | undefined {
  return expiresIn === undefined ? undefined : wholeNumber(expiresIn, 'expiresIn', 0, 2_147_483_647);
}

function altNamesOf(certificate: string): Pick<RequestedNames, 'uris' | 'dnsNames'> {
  const names = (new X509Certificate(certificate).subjectAltName ?? '').split(', ');
  const of = (kind: string) => names.flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length)] : []));
  return { uris: of('URI:'), dnsNames: of('DNS:') };
}

/** Throws `response-malformed` unless the certificate names the principal and holds the key. */
function requireOwn(certificate: string, principal: string, key: string): void {
  const leaf = new X509Certificate(certificate);
  if (commonName(leaf.subject) === principal && leaf.checkPrivateKey(createPrivateKey(key))) return;
  throw malformed('its certificate does not match the request');
}

function readIssued(certificate: string): IssuedCertificate {
  try {
    return { certificate, notAfter: new X509Certificate(certificate).validToDate.getTime() };
  } catch {
    throw malformed('it contains no certificate');
  }
}
