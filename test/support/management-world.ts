import type { Clock } from '@signet/policy-engine/clock';
import {
  type Answer,
  type Caller,
  type CallOptions,
  caller,
  startServer,
  type TestServer,
  wholeFile,
} from './start-server.ts';

/** A server for a whole test file, with a system operator and services of `media` who may be anything. */
export interface ManagementWorld {
  readonly server: TestServer;
  readonly base: string;
  readonly operator: Caller;
  /** Administrator of the domains that `newDomain` makes. */
  readonly boss: Caller;
  readonly guest: Caller;
  as(name: string): Promise<Caller>;
  /** Makes a domain and answers its path. */
  newDomain(name: string, more?: Readonly<Record<string, unknown>>): Promise<string>;
  end(): Promise<void>;
}

/** The tests of a file run at once, and a principal has one dry run at a time: another one waits for it. */
export function inTurn(call: Caller): Caller {
  const patient = async (...request: Parameters<Caller>): Promise<Answer> => {
    const answer = await call(...request);
    const isBusy = answer.status === 429 && answer.text.includes('only one dry run');
    return isBusy ? patient(...request) : answer;
  };
  return Object.assign(patient, { agent: call.agent });
}

export async function managementWorld(
  options: Readonly<Record<string, unknown>> = {},
  clock?: Clock,
): Promise<ManagementWorld> {
  const file = wholeFile();
  const base = '^/management/v1';
  const server = await startServer(file, {
    domains: [
      {
        name: 'sys.auth',
        roles: { admin: ['sys.auth.operator'] },
        services: { operator: {} },
        policies: { administration: [['ALLOW', 'admin', '*', '*']] },
      },
      {
        name: 'media',
        roles: { friends: ['media.boss'] },
        services: { boss: {}, player: {}, guest: {}, keyer: {} },
        groups: { team: ['media.guest'] },
        policies: { consent: [['ALLOW', 'friends', 'view_domain', 'group.*']] },
      },
    ],
    options,
    ...(clock !== undefined && { clock }),
  });
  const as = async (name: string) => caller(file, server, await server.pki.identity(name));
  const operator = inTurn(await as('sys.auth.operator'));
  return {
    server,
    base,
    operator,
    boss: inTurn(await as('media.boss')),
    guest: inTurn(await as('media.guest')),
    as,
    newDomain: async (name, more = {}) => {
      const made = await operator(`${base}/domains`, send('POST', { domain: name, admins: ['media.boss'], ...more }));
      if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
      return `${base}/domains/${name}`;
    },
    end: () => file.end(),
  };
}

/** A request with a JSON body. */
export function send(method: string, body?: unknown, headers: Record<string, string> = {}): CallOptions {
  if (body === undefined) return { method, headers };
  return { method, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

export function tagOf(answer: Answer): string {
  return String(answer.headers['etag']);
}
