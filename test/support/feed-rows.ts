import type { Schema } from '@signet/server/store/database-schema';
import Database from 'better-sqlite3';

/* Expected rows of the feed for a change, from the tables alone: the content of snapshots is compared row by row before and after. */

/** Meaning of a table's rows for a snapshot; null: none. A new table has to be put somewhere. */
export const meanings = {
  domains: 'lists',
  cloud_accounts: 'lists',
  roles: 'lists',
  groups: 'lists',
  members: 'member',
  policies: 'rules',
  assertions: 'rules',
  services: 'rules',
  service_keys: 'rules',
  service_hosts: 'rules',
  signing_keys: 'keys',
  meta: null,
  changes: null,
  change_requests: null,
  ended_names: null,
  instances: null,
  join_tokens: null,
  attestation_tokens: null,
  certificates: null,
  revocation_lists: null,
  audit: null,
  audit_objects: null,
} as const satisfies Record<keyof Schema, 'lists' | 'rules' | 'member' | 'keys' | null>;

type Row = Readonly<Record<string, string | number | null>>;

/** Every row that means something, as text, by what the feed says of it when it differs. */
export type Followed = ReadonlyMap<string, ReadonlySet<string>>;

/** They follow from other rows: a count from members, a version and a time from anything in the domain. */
const derived = ['member_count', 'policy_version', 'policy_modified'];

export function readFollowed(file: string): Followed {
  const found = new Map<string, Set<string>>();
  const database = new Database(file, { readonly: true });
  try {
    for (const [table, meaning] of Object.entries(meanings)) {
      if (meaning === null) continue;
      for (const row of database.prepare<[], Row>(`select * from ${table}`).all()) {
        if (row['deleted'] === 1) continue;
        const shown = meaning === 'lists' ? Object.entries(row).filter(([name]) => !derived.includes(name)) : row;
        const key = saying(meaning, { ...row, domain: row['domain'] ?? row['name'] ?? '' });
        const rows = found.get(key) ?? new Set();
        found.set(key, rows.add(JSON.stringify([table, shown])));
      }
    }
  } finally {
    database.close();
  }
  return found;
}

function saying(meaning: 'lists' | 'rules' | 'member' | 'keys', row: Row): string {
  if (meaning === 'keys') return ' keys ';
  if (meaning === 'member') return `${row['domain']} member ${row['member']}`;
  return meaning === 'rules' ? `${row['domain']} domain ` : `${row['domain']} domain lists`;
}

const none: ReadonlySet<string> = new Set();

/** Expected rows of the feed from one state to the other: `domain kind key`, sorted. */
export function differences(before: Followed, after: Followed): string[] {
  const keys = new Set([...before.keys(), ...after.keys()]);
  const different = [...keys].filter((key) => {
    const [was, is] = [before.get(key) ?? none, after.get(key) ?? none];
    return was.size !== is.size || [...was].some((row) => !is.has(row));
  });
  return withoutCovered(different);
}

/** Rows of the feed for the change that led to this counter, `head` aside. */
export function readFeed(file: string, counter: number): string[] {
  const database = new Database(file, { readonly: true });
  try {
    const rows = database
      .prepare<[number], { domain: string; kind: string; key: string }>(
        `select domain, kind, key from changes where seq = ? and kind <> 'head'`,
      )
      .all(counter);
    return withoutCovered(rows.map(({ domain, kind, key }) => `${domain} ${kind} ${key}`));
  } finally {
    database.close();
  }
}

/** The counters of all changes whose head is there. */
export function readHeads(file: string): number[] {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare<[], number>(`select seq from changes where kind = 'head' order by seq`).pluck().all();
  } finally {
    database.close();
  }
}

/** Removes covered rows: reading everything of a domain includes its lists, and reading all of its members includes each. */
function withoutCovered(said: readonly string[]): string[] {
  const known = new Set(said);
  return [...known]
    .filter((text) => {
      const [domain, kind, key] = text.split(' ');
      if (kind === 'domain' && key === 'lists') return !known.has(`${domain} domain `);
      return !(kind === 'member' && known.has(`${domain} members `));
    })
    .sort();
}
