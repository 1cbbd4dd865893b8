import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** The security rules: what is mutated. Folders, files, or globs, relative to the top. */
export const securityRules: readonly string[] = [
  'policy-engine/src/{policy,token,bundle,certificates,loader,engine,middleware,keys,names,files,der}/**/*.ts',
  'policy-engine/src/{engine,served-domains,server-identity}.ts',
  'server/src/{oauth,roles,access,cloud}/**/*.ts',
  'server/src/{x509,ssh,instances,people}/**/*.ts',
  'server/src/{principals/*,base/registered-key}.ts',
  'server/src/http/{authentication,client-trust,principal-token-use}.ts',
  'server/src/management/{rights,managers,safeguards,name-safeguards,dangling,planted-keys,service-keys,check-change,store-after,quotas}*.ts',
  'updater/src/{check-bundle,update-domain,trusted-keys,state,keys-file}.ts',
  'updater/src/files/**/*.ts',
  'client/src/{tokens,http,middleware}/**/*.ts',
];

/** Not rules: what tells people why, and what only makes a test or a record. */
const notRules = /\/(explain|explanation|search|group-in-steps|index)\.ts$/;

/**
 * Tests that come near a source besides those of the folder that mirrors its own, by the longest beginning of its path.
 * Which of them reach a mutation is measured, not written down.
 */
const alsoNear: Readonly<Record<string, readonly string[]>> = {
  'policy-engine/src': ['policy-engine/**/*.test.ts'],
  'policy-engine/src/der': ['server/certificates/*.test.ts'],
  'policy-engine/src/middleware': ['system/attack-renegotiation.test.ts'],
  'server/src/principals': [
    'server/http/{authentication,access-token,access,athenz-access-tokens,athenz-keys}.test.ts',
    'server/instances/{names-come-back,service-token}.test.ts',
    'client/principal-token.test.ts',
  ],
  'server/src/http': ['server/http/*.test.ts', 'server/instances/{rollover,refusals}.test.ts'],
  'server/src/management': ['server/management/*.test.ts', 'system/attack-domains.test.ts'],
  'server/src/x509': [
    'server/instances/*.test.ts',
    'server/certificates/*.test.ts',
    'system/attack-{lineage,late-rights,revoked-elsewhere}.test.ts',
  ],
  'server/src/x509/renew-server-certificate': ['server/cli/server-certificate.test.ts'],
  'server/src/x509/waiting-server-key': ['server/cli/server-certificate.test.ts'],
  'server/src/x509/check-authority': ['server/cli/given-authority.test.ts'],
  'server/src/ssh': ['server/ssh/*.test.ts'],
  'server/src/instances': ['server/instances/*.test.ts', 'system/attack-{lineage,late-rights}.test.ts'],
  'server/src/base/registered-key': ['server/http/athenz-keys.test.ts'],
  'server/src/oauth': [
    'server/http/{access-token,athenz-access-tokens,athenz-tokens}.test.ts',
    'server/instances/service-token.test.ts',
  ],
  'server/src/roles': ['server/access/*.test.ts', 'server/http/access.test.ts'],
  'server/src/access': ['server/http/access.test.ts'],
  'server/src/cloud': ['server/cloud/*.test.ts', 'system/attack-late-rights.test.ts'],
  'updater/src': ['updater/*.test.ts'],
  'client/src': ['client/**/*.test.ts'],
};

/** The sources to mutate that lie below one of these places; all for none. Relative to the top. */
export function securitySources(top: string, places: readonly string[]): string[] {
  const all = [...new Set(securityRules.flatMap((rule) => globSync(rule, { cwd: top })))]
    .filter((file) => !notRules.test(file))
    .sort();
  return places.length === 0 ? all : all.filter((file) => places.some((place) => file.startsWith(place)));
}

/** A test file, relative to the folder `test`, and how near it is: -1 for one about the source itself, then 0, 1… */
export interface NearTest {
  readonly file: string;
  readonly rank: number;
}

/** Test files for a source, nearest first. */
export function nearestTests(top: string, source: string): NearTest[] {
  const tests = join(top, 'test');
  const [room = '', , ...rest] = source.split('/');
  const mirror = join(room, dirname(rest.join('/')));
  const own = existsSync(join(tests, mirror)) ? globSync(join(mirror, '*.test.ts'), { cwd: tests }) : [];
  const near = Object.keys(alsoNear)
    .filter((beginning) => source.startsWith(beginning))
    .sort((a, b) => b.length - a.length)
    .map((beginning) => (alsoNear[beginning] ?? []).flatMap((glob) => globSync(glob, { cwd: tests })));
  const groups = rest.length > 1 ? [own, ...near] : [...near, own];
  const files = [...new Set(groups.flat())].map((file) => {
    const isOf = basename(file).startsWith(basename(source, '.ts')) || imports(join(tests, file), source);
    const rank = isOf ? -1 : groups.findIndex((group) => group.includes(file));
    return { file: relative(tests, join(tests, file)), rank };
  });
  return files.sort((a, b) => a.rank - b.rank || (a.file < b.file ? -1 : 1));
}

/** True if a test imports the source itself: it is then mostly quick and about nothing else. */
function imports(test: string, source: string): boolean {
  const text = readFileSync(test, 'utf8');
  const [room, , ...rest] = source.split('/');
  // By the name under which its package exports it, or past that (`internals`).
  return text.includes(`'@signet/${room}/${rest.join('/').replace(/\.ts$/, '')}'`) || text.includes(`'${source}'`);
}
