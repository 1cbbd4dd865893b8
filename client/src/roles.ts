import type { Access } from './access.ts';
import { SignetClientError } from './client-errors.ts';

/** Query for the roles of a domain that a principal holds. */
export interface RoleListQuery {
  readonly domain: string;
  /** Principal in question; absent: the caller. */
  readonly principal?: string;
  readonly signal?: AbortSignal;
}

/** Roles of domains, and of principals in them. */
export class Roles {
  readonly #access: Access;
  readonly #subject: () => Promise<string>;

  /** `subject` answers the subject of the caller's certificate. */
  constructor(access: Access, subject: () => Promise<string>) {
    this.#access = access;
    this.#subject = subject;
  }

  /** Short names of the roles that a principal has in a domain. Throws `refused` with 404 for an unknown domain. */
  async list(query: RoleListQuery): Promise<readonly string[]> {
    const principal = query.principal ?? commonName(await this.#subject());
    return this.#access.roles({ ...query, principal });
  }
}

/** The one CN of a subject, which names its service. */
export function commonName(subject: string): string {
  const name = /^CN=(.+)$/m.exec(subject)?.[1];
  if (name === undefined) throw new SignetClientError('invalid-identity', 'the certificate names no principal');
  return name;
}
