import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import {
  readSchema,
  type SchemaName,
  schemaHeader,
  schemaNames,
  writeSchemas,
} from '@signet/server/cli/config/schema-files';
import { initialise } from '@signet/server/cli/initialise';
import { worldPaths } from '@signet/server/dev/data-folder';
import { updaterConfig } from '@signet/server/dev/write-configs';
import { ConflictError } from '@signet/server/errors';
import test from 'ava';
import { runSignet } from '#support/run-signet';
import { install } from '#support/signet-program';
import { temporaryFolder } from '#support/temp';

/** The text of the file that the first line of another one names, as an editor finds it. */
function schemaOf(file: string): string {
  const [, path = ''] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(file, 'utf8')) ?? [];
  return readFileSync(resolve(dirname(file), path), 'utf8');
}

test('`signet init` names the schema of what it writes, and writes it', async (t) => {
  const folder = join(temporaryFolder(t), 'world');
  const trustDomain = parseDomainName('signet.test');
  await initialise(
    { folder, host: '127.0.0.1', port: 0, hosts: [], trustDomain, identities: [], actor: 'test' },
    systemClock,
  );
  t.is(schemaOf(join(folder, 'signet.yaml')), readSchema('config'));
  for (const name of schemaNames) {
    t.is(readFileSync(join(folder, 'schemas', `${name}.schema.json`), 'utf8'), readSchema(name));
  }
});

test('the updater of `signet dev` names its schema', (t) => {
  const paths = worldPaths('/world');
  const identities = { 'catalog.updater': { cert: '/world/c.pem', key: '/world/k.pem' } };
  const text = updaterConfig({ paths, identities, providerPort: 1, domains: ['catalog'] }, 'https://localhost/v1');
  t.is(text.split('\n')[0], schemaHeader('updater').trim());
});

test('`signet export` writes the schema of documents beside them, and not over another file', async (t) => {
  const { folder, config } = await install(t, { domains: [{ name: 'films' }] });
  const signet = (...args: readonly string[]) => runSignet(...args, '--config', config);
  const out = join(folder, 'out');
  t.like(await signet('export', out), { status: 0, stderr: '' });
  const exported = join(out, 'films.yaml');
  t.is(schemaOf(exported), readSchema('domain'));
  t.is(readFileSync(join(out, 'schemas', 'policy-tests.schema.json'), 'utf8'), readSchema('policy-tests'));
  t.like(await signet('plan', out), { status: 0 });
  t.deepEqual(await signet('schema', 'domain'), { status: 0, stdout: readSchema('domain'), stderr: '' });
});

for (const names of [['domain'], schemaNames] as const) {
  test(`schemas that are there already stay, others are replaced by force alone: ${names}`, async (t) => {
    const folder = temporaryFolder(t);
    const file = (name: SchemaName) => join(folder, 'schemas', `${name}.schema.json`);
    await writeSchemas(folder, { names });
    await writeSchemas(folder, { names });
    writeFileSync(file('domain'), '{}');
    const instanceOf = ConflictError;
    await t.throwsAsync(writeSchemas(folder, { names }), {
      instanceOf,
      message: /domain\.schema\.json` exists: use `--force`/,
    });
    t.is(readFileSync(file('domain'), 'utf8'), '{}');
    await writeSchemas(folder, { names, force: true });
    t.is(readFileSync(file('domain'), 'utf8'), readSchema('domain'));
  });
}

test('schemas are not written through a link', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'elsewhere'));
  symlinkSync('elsewhere', join(folder, 'schemas'));
  await t.throwsAsync(writeSchemas(folder, { force: true }), {
    message: /is a symbolic link: use the folder that it points to/,
  });
});
