import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { z } from 'zod';
import { limitCases } from './schema-limits.ts';
import { samplesOf } from './schema-samples.ts';

/*
 * Every bound of every schema that a source file exports, exactly kept and exceeded by one: of a configuration, of a body, of a
 * document. A new option, and a new schema, get their cases by themselves.
 */

const top = fileURLToPath(new URL('../..', import.meta.url));

/** How many bounds a file has at least: a walk that finds nothing proves nothing. */
const minCases: Readonly<Record<string, number>> = {
  'server/src/config/config-schema.ts configSchema': 90,
  'updater/src/config/config.ts configSchema': 12,
  'server/src/management/documents/document-schema.ts documentSchema': 60,
};

const files = globSync('{client,policy-engine,server,updater,example-provider}/src/**/*.ts', { cwd: top })
  .map((file) => file.replaceAll('\\', '/'))
  .sort();
const sources = new Map(files.map((file) => [file, readFileSync(join(top, file), 'utf8')]));

const schemas: { readonly name: string; readonly schema: z.ZodType }[] = [];
for (const [file, source] of sources) {
  if (!/^export const \w+Schema = /m.test(source)) continue;
  const exported: Record<string, unknown> = await import(join(top, file));
  for (const [name, schema] of Object.entries(exported)) {
    if (schema instanceof z.ZodType) schemas.push({ name: `${file} ${name}`, schema });
  }
}

for (const { name, schema } of schemas) {
  test(`limits of ${name}`, (t) => {
    const cases = limitCases(schema, samplesOf[name]);
    t.true(cases.length >= (minCases[name] ?? 0), `${cases.length} limits found`);
    for (const { title, place, at, beyond } of cases) {
      t.deepEqual(schema.safeParse(at).error?.issues ?? [], [], `${title}: refuses what is just allowed`);
      const issues = schema.safeParse(beyond).error?.issues ?? [];
      t.true(issues.length > 0, `${title}: accepts one more`);
      const named = issues.flatMap(pathsOf).some((path) => isBelow(path, place));
      t.true(named, `${title}: the problem does not name the field: ${JSON.stringify(issues)}`);
    }
    if (cases.length === 0) t.pass();
  });
}

test('every schema with a bound is exported, so that its limits are tested', (t) => {
  const bounded = [...sources].filter(
    ([, source]) => /from 'zod'/.test(source) && /\b(?:z\.|seconds\(|milliseconds\()[^;]*\.(?:min|max)\(/.test(source),
  );
  t.true(bounded.length > 5);
  const tested = new Set(schemas.map(({ name }) => name.split(' ')[0]));
  t.deepEqual(
    bounded.map(([file]) => file).filter((file) => !tested.has(file)),
    [],
  );
});

/** Where an issue is, and where those of the branches of a union are. */
function pathsOf(issue: z.core.$ZodIssue): PropertyKey[][] {
  if (issue.code !== 'invalid_union') return [issue.path];
  return issue.errors.flat().flatMap((inner) => pathsOf(inner).map((path) => [...issue.path, ...path]));
}

/** The path leads to the place: `*` is any index or name, `(name)` the name of a member. */
function isBelow(path: readonly PropertyKey[], place: readonly string[]): boolean {
  return (
    path.length === place.length &&
    place.every((step, index) => step === '*' || step === '(name)' || step === String(path[index]))
  );
}

test('the walk finds each kind of bound, and what holds none', (t) => {
  const schema = z.strictObject({
    port: z.int().min(0).max(9),
    names: z.array(z.string().min(1).max(3)).max(2).default([]),
    claims: z.record(z.string().min(1), z.string().max(4)).optional(),
    level: z.enum(['low', 'high']),
  });
  const cases = limitCases(schema);
  const found = cases.map(({ title, at, beyond }) => [title, at, beyond]);
  const rest = { port: 0, level: 'low' };
  t.deepEqual(found, [
    ['port: at least 0', rest, { ...rest, port: -1 }],
    ['port: at most 9', { ...rest, port: 9 }, { ...rest, port: 10 }],
    ['names: items, at most 2', { ...rest, names: ['0', '1'] }, { ...rest, names: ['0', '1', '2'] }],
    ['names.*: characters, at least 1', { ...rest, names: ['0'] }, { ...rest, names: [''] }],
    ['names.*: characters, at most 3', { ...rest, names: ['xx0'] }, { ...rest, names: ['xxx0'] }],
    ['claims.(name): characters, at least 1', { ...rest, claims: { 0: '0' } }, { ...rest, claims: { '': '0' } }],
    ['claims.*: characters, at most 4', { ...rest, claims: { 0: 'xxx0' } }, { ...rest, claims: { 0: 'xxxx0' } }],
  ]);
});
