import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256 } from './checksums.ts';
import { run } from './run.ts';

/** The Node that npm brought, and how to get what Node publishes. */
interface CompareDeps {
  readonly version: string;
  readonly platform: string;
  /** The program. */
  readonly file: string;
  /** Answers the bytes at a path below `https://nodejs.org/dist/`. */
  readonly fetchBytes: (path: string) => Promise<Uint8Array>;
}

/**
 * Compares Node as npm brought it, which somebody packed, with what Node publishes. Node lists the digests of its archives, so the one for this
 * platform is fetched, checked, and the program in it compared byte by byte. Throws when they differ.
 */
export async function compareNode({ version, platform, file, fetchBytes }: CompareDeps): Promise<void> {
  const name = `node-v${version}-${platform}`;
  const list = Buffer.from(await fetchBytes(`v${version}/SHASUMS256.txt`)).toString('utf8');
  const listed = list.split('\n').find((line) => line.endsWith(`  ${name}.tar.gz`));
  const archive = await fetchBytes(`v${version}/${name}.tar.gz`);
  if (listed?.split(' ')[0] !== sha256(archive))
    throw new Error(`${name}.tar.gz is not what Node's SHASUMS256.txt lists`);
  const folder = mkdtempSync(join(tmpdir(), 'signet-node-'));
  try {
    writeFileSync(join(folder, 'node.tar.gz'), archive);
    run('tar', ['-xzf', 'node.tar.gz', `${name}/bin/node`], { cwd: folder });
    if (readFileSync(join(folder, name, 'bin', 'node')).equals(readFileSync(file))) return;
    throw new Error(`\`${file}\` is not the program that Node publishes as ${name}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
