import { isAbsolute, resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { loadConfig } from '../config/config.ts';
import type { StorePlace } from '../config/store-place.ts';
import { compareStores, copyStore } from '../store/maintenance.ts';
import { withProgress } from './progress.ts';
import { action, CommandFailedError, print, UsageError, warn } from './run.ts';

interface CopyOptions {
  readonly from: NamedPlace;
  readonly to: NamedPlace;
  readonly resume?: boolean;
  readonly check?: boolean;
  readonly whileRunning?: boolean;
  readonly json?: boolean;
}

interface NamedPlace {
  readonly name: string;
  readonly kind: StorePlace['kind'];
  /** File of a store, or of the configuration that says where the database is. */
  readonly file: string;
}

/** `signet store copy`. */
export function copyCommand(): Command {
  const place = '`sqlite:<file>`, or `postgres:<configuration file>`';
  return new Command('copy')
    .description('copy the store to another store and verify the copy; stop the servers first')
    .requiredOption('--from <place>', place, parsePlace)
    .requiredOption('--to <place>', `${place}: empty`, parsePlace)
    .option('--resume', 'resume an interrupted copy')
    .option('--while-running', 'copy while servers use the source; their later changes are not copied')
    .option('--check', 'compare the two stores without copying; exit status 1 if they differ')
    .option('--json', 'print JSON')
    .action(action(copy));
}

function parsePlace(text: string): NamedPlace {
  const [, kind, file = ''] = /^(sqlite|postgres):(.+)$/.exec(text) ?? [];
  if (kind !== 'sqlite' && kind !== 'postgres')
    throw new InvalidArgumentError('must be `sqlite:<file>` or `postgres:<configuration file>`');
  // An address may hold a password, which must not be on a command line, where others read it.
  if (file.startsWith('//')) throw new InvalidArgumentError('must name a file, not an address');
  return { name: `${kind}:${file}`, kind, file: isAbsolute(file) ? file : resolve(file) };
}

/** INVARIANT: the file alone says where its database is: one environment would mean both places. Throws `UsageError`. */
function storePlaceOf({ kind, file, name }: NamedPlace): StorePlace {
  if (kind === 'sqlite') return { kind, file };
  const { store } = loadConfig(file);
  if (store.kind === 'postgres') return store;
  throw new UsageError(`\`${name}\`: \`store.kind\` is not \`postgres\` in the configuration`);
}

async function copy({ from, to, json, ...options }: CopyOptions): Promise<void> {
  const [source, target] = [storePlaceOf(from), storePlaceOf(to)];
  if (options.check === true) return await compare(source, target, json);
  const { resume = false, whileRunning = false } = options;
  const copied = await withProgress((onProgress) => copyStore(source, target, { resume, whileRunning, onProgress }));
  print({ from: from.name, to: to.name, ...copied }, json);
  if (whileRunning) {
    return warn(
      `later changes in \`${from.name}\` are not in \`${to.name}\`: to move, stop the servers and copy again`,
    );
  }
  warn(`start servers with \`${to.name}\` only: changes in \`${from.name}\` are no longer copied`);
}

async function compare(source: StorePlace, target: StorePlace, json: boolean | undefined): Promise<void> {
  const { from, to, differs } = await withProgress((onProgress) => compareStores(source, target, onProgress));
  if (json === true) print({ from, to, ...(differs !== undefined && { differs }) }, true);
  else if (differs === undefined) print(`identical: ${from.rows} rows, digest ${from.digest}`, false);
  else
    print(
      `table ${differs} differs: ${from.rows} rows, digest ${from.digest}; ${to.rows} rows, digest ${to.digest}`,
      false,
    );
  if (differs !== undefined) throw new CommandFailedError();
}
