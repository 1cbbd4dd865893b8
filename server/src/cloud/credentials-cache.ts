import type { Clock } from '@signet/policy-engine/clock';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import { DomainError } from '../errors.ts';
import type { RoleSession, TemporaryCredentials } from './role-session.ts';

/** Requests a session from the cloud. Throws `InvalidRequestError` when refused, `ServiceUnavailableError` when out of reach. */
export type AssumeRole = (session: RoleSession) => Promise<TemporaryCredentials>;

type Entry =
  | { readonly kind: 'credentials'; readonly credentials: TemporaryCredentials; readonly renewAt: number }
  | { readonly kind: 'refusal'; readonly error: DomainError; readonly renewAt: number };

/** Lifetime of a cached refusal, so that it is not requested again and again, in milliseconds. */
const refusalLifeMs = 120_000;

/**
 * Keeps sessions by everything that they depend on until a quarter of their life is left, and refusals for two minutes.
 * One call is under way for a key at a time. Failures to reach the cloud are not remembered. Memory only.
 */
export class CredentialsCache {
  readonly #assumeRole: AssumeRole;
  readonly #clock: Clock;
  readonly #entries = new LRUCache<string, Entry>(atMost(10_000));
  readonly #underWay = new Map<string, Promise<TemporaryCredentials>>();

  constructor(assumeRole: AssumeRole, clock: Clock) {
    this.#assumeRole = assumeRole;
    this.#clock = clock;
  }

  /** `onAsk` is told when the cloud has to be asked. */
  async get(session: RoleSession, onAsk: () => void = () => undefined): Promise<TemporaryCredentials> {
    const key = JSON.stringify([
      session.roleArn,
      session.tags.map((tag) => tag.value),
      session.durationSeconds,
      session.externalId,
    ]);
    const entry = this.#entries.get(key);
    if (entry !== undefined && this.#clock.now() < entry.renewAt) {
      if (entry.kind === 'refusal') throw entry.error;
      return entry.credentials;
    }
    const pending = this.#underWay.get(key);
    if (pending !== undefined) return pending;
    onAsk();
    return this.#ask(key, session);
  }

  #ask(key: string, session: RoleSession): Promise<TemporaryCredentials> {
    const answer = this.#assume(key, session).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, answer);
    return answer;
  }

  async #assume(key: string, session: RoleSession): Promise<TemporaryCredentials> {
    try {
      const credentials = await this.#assumeRole(session);
      const now = this.#clock.now();
      const renewAt = now + (credentials.expiration - now) * 0.75;
      this.#entries.set(key, { kind: 'credentials', credentials, renewAt });
      return credentials;
    } catch (error) {
      if (error instanceof DomainError && error.code === 'invalid-request') {
        this.#entries.set(key, { kind: 'refusal', error, renewAt: this.#clock.now() + refusalLifeMs });
      }
      throw error;
    }
  }
}
