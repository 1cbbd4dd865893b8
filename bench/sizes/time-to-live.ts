import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';
import { parseDomainName } from '@signet/policy-engine/names';
import type { StorePlace } from '@signet/server/config/store-place';
import { noDiff, unchanged } from '@signet/server/model/domain-change';
import type { Store } from '@signet/server/model/store';
import { openStore } from '@signet/server/store/open';
import type { Target } from '../token/load.ts';
import { domainName } from './fill-store.ts';

/** Between two looks at the server. */
const lookMs = 3;

export interface LivePlan {
  readonly place: StorePlace;
  readonly baseUrl: string;
  /** Caller whose certificate is used. */
  readonly caller: Target;
  readonly refreshIntervalMs: number;
  readonly samples: number;
}

/**
 * Milliseconds from the commit of a change in this process until a running server answers by it: every sample adds a member to a role of
 * domain number `domain`, at another moment of the server's interval, and asks the server for the member's access until it has it.
 */
export async function timesToLive(plan: LivePlan, domain: number): Promise<number[]> {
  const store = await openStore(plan.place);
  const hasAccess = createQuestion(plan, domainName(domain));
  const times: number[] = [];
  try {
    for (let sample = 0; sample < plan.samples; sample += 1) {
      // The golden ratio spreads the moments evenly.
      await delay(((sample * 0.618) % 1) * plan.refreshIntervalMs);
      const member = `live.member-${domain}-${sample}`;
      await addMember(store, domainName(domain), member);
      const committed = performance.now();
      while (!(await hasAccess(member))) await delay(lookMs);
      times.push(performance.now() - committed);
    }
  } finally {
    await store.close();
  }
  return times;
}

async function addMember(store: Store, domain: string, member: string): Promise<void> {
  await store.change({ actor: 'sys.auth.operator' }, async (transaction) => {
    const stored = await transaction.attributes(parseDomainName(domain));
    if (stored === undefined) throw new Error(`${domain} is not in the store`);
    const [name] = await transaction.listNames(stored.name, 'role');
    const role = name && (await transaction.list({ kind: 'role', domain: stored.name, name }));
    if (role === undefined) throw new Error(`${domain} has no role`);
    const members = { ...noDiff, added: [{ name: member, disabled: false }] };
    await transaction.save({ ...unchanged(stored), roles: [{ before: role, after: role, members }] });
  });
}

/** Role 0 of every domain may read `collection0.item`. */
function createQuestion({ baseUrl, caller }: LivePlan, domain: string): (member: string) => Promise<boolean> {
  const agent = new Agent({
    keepAlive: true,
    maxSockets: 1,
    cert: readFileSync(caller.certificateFile),
    key: readFileSync(caller.keyFile),
    ca: readFileSync(caller.caFile),
  });
  return (member) =>
    new Promise((resolve, reject) => {
      const url = `${baseUrl}/access/read?resource=${domain}:collection0.item&principal=${member}`;
      const sent = request(url, { agent }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          body += chunk;
        });
        response.once('end', () => {
          if (response.statusCode === 200) resolve(body === '{"granted":true}');
          else reject(new Error(`status ${response.statusCode}: ${body}`));
        });
      });
      sent.once('error', reject);
      sent.end();
    });
}
