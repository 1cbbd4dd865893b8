import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { foldAscii } from '@signet/policy-engine/names';
import { Command, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import {
  type AuditFilter,
  type AuditSource,
  isAboutShown,
  newestRecords,
  recordsAfter,
  type ShownRecord,
  serverSource,
  storeSource,
} from './audit-source.ts';
import type { ConnectionOptions } from './connection.ts';
import { action, CommandFailedError, configPathOf, print, printList, UsageError } from './run.ts';
import { asksServer, sourceOptions } from './source.ts';
import { stopSignal } from './stop-signal.ts';

interface ReadOptions extends ConnectionOptions {
  readonly domain?: string;
  readonly subject?: string;
  readonly actor?: string;
  readonly about?: string;
  readonly since?: string;
  readonly until?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

interface ListOptions extends ReadOptions {
  readonly limit: string;
}

interface ExportOptions extends ReadOptions {
  readonly after?: string;
  readonly state?: string;
  readonly brief?: boolean;
}

interface VerifyOptions {
  readonly head?: string;
  readonly json?: boolean;
}

/** `signet audit list | export | verify`. */
export function auditCommand(): Command {
  const audit = new Command('audit').description('list, export and verify the audit log');
  readOptions(
    audit
      .command('list')
      .description('list audit records, newest first; with --follow, new records are printed as they arrive'),
  )
    .option('--limit <number>', 'maximum number of records', '20')
    .option('--json', 'print JSON; with --follow, one record per line')
    .action(action(list));
  readOptions(audit.command('export').description('print each audit record as a line of JSON, oldest first'))
    .addOption(new Option('--after <id>', 'only records after the record with this ID').conflicts('state'))
    .option('--state <file>', 'resume after the last record exported with this file; created if missing')
    .option('--brief', 'omit the values before and after each change, which may be large')
    .action(action(exportRecords));
  audit
    .command('verify')
    .description('verify that no record was changed, removed or inserted; exit status 1 if one was')
    .option('--head <hash>', 'hash of an earlier head that the chain must contain')
    .option('--json', 'print JSON')
    .action(action(verify));
  return audit;
}

function readOptions(command: Command): Command {
  return sourceOptions(command)
    .option(
      '--domain <name>',
      'only records of this domain since it was created; callers who may view the domain can use this',
    )
    .option('--subject <name>', 'only records of this domain, key, certificate or principal')
    .option('--actor <principal>', 'only changes by this principal')
    .option(
      '--about <name>',
      'only records by or of this name, of its certificates, or of its entries in roles and groups',
    )
    .option('--since <time>', 'only records from this time on: a time, or an age (`7d`, `12h`, `30m`)')
    .option('--until <time>', 'only records before this time')
    .option('--follow', 'continue with new records until SIGINT or SIGTERM');
}

async function list(options: ListOptions, command: Command): Promise<void> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit must be an integer, 1 or more');
  const filter = filterOf(options);
  await withSource(options, command, async (source) => {
    if (options.follow === true) return await followList(source, filter, limit, options.json === true);
    const records = newestRecords(source, filter, limit);
    // Printed one by one: together they may be more than a string, or the memory, can hold.
    if (options.json === true) await printList(records);
    else print(await Array.fromAsync(records, brief), false);
  });
}

async function followList(source: AuditSource, filter: AuditFilter, limit: number, json: boolean): Promise<void> {
  using stop = stopSignal();
  const tell = (record: ShownRecord) => print(json ? record : lineOf(record), json);
  // Read before the list, so that later records are told below it.
  const last = await newestId(source, filter);
  const records = await Array.fromAsync(newestRecords(source, filter, limit), json ? (record) => record : brief);
  for (const record of records.reverse()) if (record.id <= last) tell(record);
  await follow({ source, filter, after: last, signal: stop.signal, tell });
}

/** Exports records. The position is saved after the write: after a crash some records come twice, and none is left out. */
async function exportRecords(options: ExportOptions, command: Command): Promise<void> {
  const filter = filterOf(options);
  using stop = options.follow === true ? stopSignal() : undefined;
  const after = options.state === undefined ? idOf(options.after ?? '0', '--after') : readState(options.state);
  await withSource(options, command, async (source) => {
    const newest = Math.max(after, await newestId(source, filter));
    let [last, noted] = [after, after];
    const note = async () => {
      if (options.state === undefined || last === noted) return;
      await replaceFile(options.state, `${last}\n`, { mode: 0o600 });
      noted = last;
    };
    const tell = (record: ShownRecord) => {
      last = Math.max(last, record.id);
      print(options.brief === true ? brief(record) : withSides(record), true);
    };
    for await (const record of recordsAfter(source, filter, after)) tell(record);
    last = Math.max(last, newest);
    await note();
    if (stop !== undefined) await follow({ source, filter, after: last, signal: stop.signal, tell, note });
  });
}

function idOf(text: string, from: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new UsageError(`${from} must be the id of a record, or 0`);
}

/** Position from a state file. Throws `UsageError` for any other file. */
function readState(file: string): number {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw new UsageError(`--state: \`${file}\` cannot be read`);
  }
  return idOf(text.trim(), `the content of \`${file}\``);
}

/** The id of the newest record that is not left out by its domain or subject; 0 when there is none. */
async function newestId(source: AuditSource, filter: AuditFilter): Promise<number> {
  for await (const { id } of newestRecords(source, scopeOf(filter), 1)) return id;
  return 0;
}

/** Filter that an index answers: queried by itself it tells how far the log has come. */
function scopeOf({ domain, subject }: AuditFilter): AuditFilter {
  return { ...(domain !== undefined && { domain }), ...(subject !== undefined && { subject }) };
}

function isWanted({ actor, about, since, until }: AuditFilter, record: ShownRecord): boolean {
  const at = parseTimestamp(String(record['at'])) ?? 0;
  if (actor !== undefined && record['actor'] !== actor) return false;
  if (about !== undefined && !isAboutShown(record, about)) return false;
  return (since === undefined || at >= since) && (until === undefined || at < until);
}

/** Interval of polls for new records, in milliseconds. */
const lookMs = 2000;

interface Following {
  readonly source: AuditSource;
  readonly filter: AuditFilter;
  /** The record after which it begins. */
  readonly after: number;
  /** Aborted when it shall end. */
  readonly signal: AbortSignal;
  readonly tell: (record: ShownRecord) => void;
  /** Called when everything that there is has been told. */
  readonly note?: () => Promise<void>;
}

async function follow({ source, filter, after, signal, tell, note }: Following): Promise<void> {
  let last = after;
  while (!signal.aborted) {
    for await (const record of recordsAfter(source, scopeOf(filter), last)) {
      last = record.id;
      if (isWanted(filter, record)) tell(record);
    }
    await note?.();
    await pause(lookMs, undefined, { signal }).catch(() => undefined);
  }
}

function brief({ before: _, after: __, ...record }: ShownRecord): ShownRecord {
  return record;
}

function lineOf(record: ShownRecord): string {
  const { id, at, actor, action: what, subject, reason } = record;
  return [id, at, actor, what, subject, reason].filter((part) => part !== undefined).join('  ');
}

/** A server answers both sides as objects; the store has their JSON. */
function withSides(record: ShownRecord): ShownRecord {
  const { before, after, ...others } = record;
  const side = (name: string, value: unknown) => value !== undefined && { [name]: asObject(value) };
  return { ...others, ...side('before', before), ...side('after', after) };
}

function asObject(value: unknown): unknown {
  return typeof value === 'string' ? JSON.parse(value) : value;
}

function filterOf({ domain, subject, actor, about, since, until }: ReadOptions): AuditFilter {
  if (domain !== undefined && subject !== undefined)
    throw new UsageError('--domain and --subject cannot be used together');
  return {
    ...(domain !== undefined && { domain }),
    ...(subject !== undefined && { subject }),
    ...(actor !== undefined && { actor }),
    ...(about !== undefined && { about: foldAscii(about) }),
    ...(since !== undefined && { since: timeOf('--since', since) }),
    ...(until !== undefined && { until: timeOf('--until', until) }),
  };
}

const unitMs: Readonly<Record<string, number>> = { d: 86_400_000, h: 3_600_000, m: 60_000 };

/** A time, or how long ago it was. Throws `UsageError`. */
function timeOf(option: string, text: string): number {
  const span = /^(\d{1,5})([dhm])$/.exec(text);
  if (span !== null) return systemClock.now() - Number(span[1]) * (unitMs[span[2] ?? ''] ?? 0);
  const at = parseTimestamp(text);
  if (at === undefined)
    throw new UsageError(`${option} must be a UTC time such as \`2027-01-01T00:00:00Z\`, or \`7d\`, \`12h\`, \`30m\``);
  return at;
}

async function withSource(
  options: ReadOptions,
  command: Command,
  work: (source: AuditSource) => Promise<void>,
): Promise<void> {
  if (asksServer(options)) await work(serverSource(options));
  else await withStore(command, (store) => work(storeSource(store)));
}

async function verify(options: VerifyOptions, command: Command): Promise<void> {
  await withStore(command, async (store) => {
    const verdict = await store.verifyAudit(options.head);
    if (options.json === true) print(verdict, true);
    else print(verdict.fault ?? `${verdict.records} records, head ${verdict.head}`, false);
    if (verdict.fault !== undefined) throw new CommandFailedError();
  });
}

async function withStore(command: Command, work: (store: Store) => Promise<void>): Promise<void> {
  const { store: place } = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(place, { readonly: true });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
