import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { z } from 'zod';
import { ArchiveError } from './archive.ts';

/** Manifest inside of a complete backup. */
const manifestSchema = z.strictObject({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  storeKind: z.enum(['sqlite', 'postgres']),
  /** Digest of the store's backup, as `signet backup` prints it. */
  storeDigest: z.string().regex(/^[0-9a-f]{64}$/),
  /** File of the store's backup. */
  store: z.string(),
  /** SHA-256 of every file but this one, in hexadecimal. */
  files: z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/)),
});

export type Manifest = z.output<typeof manifestSchema>;

const manifestName = 'backup.json';

/** Writes down every file below the folder. */
export function writeManifest(folder: string, known: Omit<Manifest, 'format' | 'files'>): Manifest {
  const manifest = { format: 1 as const, ...known, files: digestsBelow(folder) };
  writeFileSync(join(folder, manifestName), `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: 0o600 });
  return manifest;
}

/** The manifest of an unpacked backup. Throws `ArchiveError` when a file is missing, another one, or more than it says. */
export function readManifest(folder: string): Manifest {
  const { [manifestName]: _, ...found } = digestsBelow(folder);
  const manifest = parseManifest(folder);
  if (manifest.files[manifest.store] === undefined) throw new ArchiveError('the backup holds no store');
  const names = new Set([...Object.keys(found), ...Object.keys(manifest.files)]);
  const bad = [...names].filter((name) => found[name] !== manifest.files[name]);
  if (bad.length > 0) throw new ArchiveError(`the backup does not match its manifest: ${bad.slice(0, 5).join(', ')}`);
  return manifest;
}

function parseManifest(folder: string): Manifest {
  try {
    return manifestSchema.parse(JSON.parse(readFileSync(join(folder, manifestName), 'utf8')));
  } catch (error) {
    throw new ArchiveError(`\`${manifestName}\` in it was not written by this version of Signet`, { cause: error });
  }
}

function digestsBelow(folder: string): Record<string, string> {
  const files = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => !entry.isDirectory());
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      const name = relative(folder, path).split(sep).join('/');
      return [name, createHash('sha256').update(readFileSync(path)).digest('hex')];
    }),
  );
}
