import { parseActionName, parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { SignetClientError } from './client-errors.ts';
import { booleanMember, decodeObject, isObject, type JsonObject, malformed, stringsMember } from './decode.ts';
import type { Http } from './http/http.ts';

/** Query of the central access check: may a principal do the action on the resource? */
export interface AccessQuery {
  readonly action: string;
  /** `domain:entity`, e.g. `catalog:movie`. */
  readonly resource: string;
  /** Principal in question; absent: the caller, which is the principal of `principalToken` where one is sent. */
  readonly principal?: string;
  /**
   * Thumbprint (`x5t#S256`, RFC 8705 §3.1) of the certificate that named `principal`: the answer is then no when it was revoked, as the
   * certificates of a deleted instance are.
   */
  readonly thumbprint?: string;
  /** The trust domain of an `assume_role` check. */
  readonly trustDomain?: string;
  /** A client's principal token to pass on, in the header of the server's `profile`. */
  readonly principalToken?: string;
  readonly signal?: AbortSignal;
}

/** The answer to one of many questions. */
export interface AccessAnswer {
  /** False as well where there is no answer. */
  readonly granted: boolean;
  /** Error in place of an answer: 404 for an unknown domain, 403 for a caller who may not ask about the principal. */
  readonly error?: { readonly code: number; readonly message: string };
}

/** A question for the roles of a principal in a domain. */
export interface RolesQuery {
  readonly domain: string;
  readonly principal: string;
  readonly signal?: AbortSignal;
}

/** A question whether a principal is in one role. */
export interface InRoleQuery extends RolesQuery {
  /** Short name of the role. */
  readonly role: string;
}

/** Headers in which services get the principal tokens of their clients. */
export const principalTokenHeaders = ['svc-principal-auth', 'athenz-principal-auth'] as const;
type PrincipalTokenHeader = (typeof principalTokenHeaders)[number];

/** The names that clients and servers of each kind know. */
const headerOf: Readonly<Record<'signet' | 'athenz', PrincipalTokenHeader>> = {
  signet: 'svc-principal-auth',
  athenz: 'athenz-principal-auth',
};

/** The header in which a server of this profile is sent principal tokens. Throws `invalid-argument`. */
export function principalTokenHeaderOf(profile: keyof typeof headerOf): PrincipalTokenHeader {
  if (Object.hasOwn(headerOf, profile)) return headerOf[profile];
  throw new SignetClientError('invalid-argument', 'profile must be `signet` or `athenz`');
}

/** Maximum of queries in one request to a server. */
const maxQuestions = 100;

/** The central access checks. They ask the server each time: for decisions at request rate use the policy engine. */
export class Access {
  readonly #http: Http;
  readonly #tokenHeader: PrincipalTokenHeader;

  constructor(http: Http, tokenHeader: PrincipalTokenHeader) {
    this.#http = http;
    this.#tokenHeader = tokenHeader;
  }

  /** `GET /access/{action}`: whether the principal may do the action on the resource. Throws `refused` with 404 for an unknown domain. */
  async check(query: AccessQuery): Promise<boolean> {
    const { action, ...asked } = questionOf(query);
    const { body } = await this.#http.send({
      method: 'GET',
      path: ['access', action],
      query: asked,
      headers: principalTokenIn(this.#tokenHeader, query.principalToken),
      signal: query.signal,
    });
    return booleanMember(decodeObject(body), 'granted');
  }

  /**
   * `POST /access-checks`: the answers to many questions, in their order; a request for each 100 of them. They are sent with the certificate
   * alone. Throws as `check`, but for an unknown domain, and a principal about which the caller may not ask: see `AccessAnswer`.
   */
  async checkMany(
    queries: readonly Omit<AccessQuery, 'principalToken' | 'signal'>[],
    { signal }: { readonly signal?: AbortSignal } = {},
  ): Promise<readonly AccessAnswer[]> {
    const questions = queries.map((query, index) => questionOf(query, `queries[${index}].`));
    const answers: AccessAnswer[] = [];
    for (let start = 0; start < questions.length; start += maxQuestions) {
      const asked = questions.slice(start, start + maxQuestions);
      const { body } = await this.#http.send({
        method: 'POST',
        path: ['access-checks'],
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ questions: asked }),
        signal,
      });
      answers.push(...answersIn(decodeObject(body), asked.length));
    }
    return answers;
  }

  /** `GET /access/domain/{domainName}/principal/{principal}`: short names of the roles that the principal has in the domain. */
  async roles(query: RolesQuery): Promise<readonly string[]> {
    const [domain, principal] = parseArguments(() => [
      parseDomainName(query.domain, 'domain'),
      parsePrincipalName(query.principal, 'principal'),
    ]);
    const path = ['access', 'domain', domain, 'principal', principal];
    const { body } = await this.#http.send({ method: 'GET', path, signal: query.signal });
    return stringsMember(decodeObject(body), 'roles');
  }

  /** `GET /access/domain/{domainName}/role/{roleName}/principal/{principal}`: whether the principal is in the role. */
  async inRole(query: InRoleQuery): Promise<boolean> {
    const [domain, role, principal] = parseArguments(() => [
      parseDomainName(query.domain, 'domain'),
      parseRoleName(query.role, 'role'),
      parsePrincipalName(query.principal, 'principal'),
    ]);
    const path = ['access', 'domain', domain, 'role', role, 'principal', principal];
    const { body } = await this.#http.send({ method: 'GET', path, signal: query.signal });
    return booleanMember(decodeObject(body), 'granted');
  }
}

/** Body of the query; `at` stands before the names of fields in errors. */
function questionOf(query: AccessQuery, at = '') {
  const { resource, principal, thumbprint, trustDomain } = query;
  return parseArguments(() => ({
    action: parseActionName(query.action, `${at}action`),
    resource,
    principal: principal === undefined ? undefined : parsePrincipalName(principal, `${at}principal`),
    thumbprint,
    domain: trustDomain === undefined ? undefined : parseDomainName(trustDomain, `${at}trustDomain`),
  }));
}

function answersIn({ answers }: JsonObject, count: number): AccessAnswer[] {
  if (!Array.isArray(answers) || answers.length !== count) throw malformed('`answers` has not one for each question');
  return answers.map((answer: unknown) => {
    if (!isObject(answer)) throw malformed('an answer is not an object');
    const granted = booleanMember(answer, 'granted');
    const { error } = answer;
    if (error === undefined) return { granted };
    if (!isObject(error) || typeof error['code'] !== 'number' || granted) throw malformed('`error` is not an error');
    return { granted, error: { code: error['code'], message: String(error['message']) } };
  });
}

function principalTokenIn(header: PrincipalTokenHeader, token: string | undefined): Record<string, string> {
  if (token === undefined) return {};
  // Rejects characters that could end the header: the text comes from a client of the caller.
  if (!/^[\x21-\x7e]{1,8192}$/.test(token)) {
    throw new SignetClientError('invalid-argument', 'principalToken holds characters that no header may hold');
  }
  return { [header]: token };
}
