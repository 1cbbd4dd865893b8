import { existsSync, globSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

/** The security rules: what is mutated. Folders, files, or globs, relative to the top. */
export const securityRules: readonly string[] = [
  'policy-engine/src/{policy,token,bundle,certificates,loader,engine,middleware,keys,names}/**/*.ts',
  'policy-engine/src/{engine,served-domains,server-identity}.ts',
  'server/src/{oauth,roles,access,cloud}/**/*.ts',
  'server/src/{certificates,instances}/**/*.ts',
  'server/src/principal*.ts',
  'server/src/http/{authentication,client-trust,principal-token-use}.ts',
  'server/src/management/{rights,managers,safeguards,name-safeguards,dangling,planted-keys,service-keys,member-scope}*.ts',
  'updater/src/{check-bundle,update-domain,trusted-keys,state,keys-file}.ts',
  'updater/src/files/**/*.ts',
  'client/src/{tokens,http,middleware}/**/*.ts',
];

/** Not rules: what tells people why, and what only makes a test or a record. */
const notRules = /\/(explain|explanation|search|steps|index)\.ts$/;

/**
 * Tests that come near a source besides those of the folder that mirrors its own, by the longest beginning of its path.
 * Which of them reach a mutation is measured, not written down.
 */
const alsoNear: Readonly<Record<string, readonly string[]>> = {
  'policy-engine/src': ['policy-engine/**/*.test.ts'],
  'policy-engine/src/middleware': ['system/attack-renegotiation.test.ts'],
  'server/src/principal': [
    'server/http/{authentication,access-token,access}.test.ts',
    'client/principal-token.test.ts',
  ],
  'server/src/http': ['server/http/*.test.ts', 'server/instances/{rollover,refusals}.test.ts'],
  'server/src/management': ['server/management/*.test.ts', 'system/attack-domains.test.ts'],
  'server/src/certificates': [
    'server/instances/*.test.ts',
    'server/certificates/*.test.ts',
    'system/attack-{lineage,late-rights,revoked-elsewhere}.test.ts',
  ],
  'server/src/certificates/ssh': ['server/ssh/*.test.ts'],
  'server/src/instances': ['server/instances/*.test.ts', 'system/attack-{lineage,late-rights}.test.ts'],
  'server/src/oauth': ['server/http/access-token.test.ts'],
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

/** Test files for a source, nearest first, relative to the folder `test`. */
export function nearestTests(top: string, source: string): string[] {
  const tests = join(top, 'test');
  const [room = '', , ...rest] = source.split('/');
  const mirror = join(room, dirname(rest.join('/')));
  const name = basename(source, '.ts');
  const own = existsSync(join(tests, mirror)) ? globSync(join(mirror, '*.test.ts'), { cwd: tests }) : [];
  const near = Object.keys(alsoNear)
    .filter((beginning) => source.startsWith(beginning))
    .sort((a, b) => b.length - a.length)
    .flatMap((beginning) => (alsoNear[beginning] ?? []).flatMap((glob) => globSync(glob, { cwd: tests })));
  const size = (file: string): number => statSync(join(tests, file)).size;
  const rank = (file: string): number =>
    basename(file).startsWith(name) ? 0 : own.includes(file) && rest.length > 1 ? 1 : 2;
  return [...new Set([...own, ...near])]
    .map((file) => relative(tests, join(tests, file)))
    .sort((a, b) => rank(a) - rank(b) || size(a) - size(b));
}
