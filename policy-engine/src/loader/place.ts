import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Target of a path at one instant. */
export interface Place {
  /** Identity of the directory; `undefined` if none is readable. */
  readonly directory: string | undefined;
  readonly links: readonly string[];
  /** Differs when another directory, another list of names, or another file behind a link is there. */
  readonly signature: string;
}

/** Upper bound of links in the frequent check, which must stay cheap; longer chains are left to the scan. */
export const linksPerCheck = 100;

/**
 * Current target of the path. Costs one `stat` of the directory and one of each link; the names are read only if they differ from those of
 * `known`. Never throws.
 */
export async function placeOf(path: string, known: Place | undefined): Promise<Place> {
  const own = await identityOf(path);
  if (own === undefined) return { directory: undefined, links: [], signature: 'none' };
  const isSame = known?.signature.startsWith(`${own.state} `) === true;
  const links = isSame ? known.links : await linksIn(path);
  const behind = await Promise.all(links.map(async (name) => (await identityOf(join(path, name)))?.state ?? 'none'));
  return { directory: own.file, links, signature: `${own.state} ${behind.join(' ')}` };
}

/** Identity of the target after all links. A directory's times change when names are added, removed or replaced. */
async function identityOf(path: string): Promise<{ readonly file: string; readonly state: string } | undefined> {
  try {
    const { dev, ino, birthtimeNs, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    // The number of a directory that was removed may come back with the next one.
    return { file: `${dev}:${ino}:${birthtimeNs}`, state: `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}` };
  } catch {
    return undefined;
  }
}

async function linksIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => []);
  const links = entries.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name);
  return links.sort().slice(0, linksPerCheck);
}
