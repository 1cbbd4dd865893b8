import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { optionPaths } from '@signet/server/config/config-schema';
import { environmentName } from '@signet/server/config/env';
import test, { type ExecutionContext } from 'ava';
import { DockerfileParser, type From, type Instruction } from 'dockerfile-ast';
import { parse } from 'yaml';
import { z } from 'zod';
import { repository } from '#support/dev-world';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';

/* No container runs here: the Dockerfile and the compose file are read, and agree with the image that is built and with what servers take. */

const read = (file: string) => readFileSync(join(repository, 'deploy', file), 'utf8');
const pki = await createPki();

const dockerfile = DockerfileParser.parse(read('image/Dockerfile'));
const argumentsOf = (instruction: Instruction | undefined) => instruction?.getArgumentsContent() ?? '';
const ofKeyword = (keyword: string) => dockerfile.getInstructions().filter((each) => each.getKeyword() === keyword);

test('the Dockerfile copies what is there, from stages that there are', (t) => {
  const stages = dockerfile.getFROMs().map((from: From) => from.getBuildStage());
  t.deepEqual(stages, ['build', 'install', null]);
  const copied = dockerfile.getCOPYs().flatMap((copy) => {
    const words = copy.getArguments().map((word) => word.getValue());
    const [from] = copy.getFlags();
    if (from === undefined) return words.slice(0, -1);
    t.is(from.getName(), 'from');
    t.true(stages.includes(from.getValue()), copy.toString());
    return [];
  });
  const all = new Set(['.', ...globSync('{*,*/package.json}', { cwd: repository })]);
  t.deepEqual(
    copied.filter((path) => !all.has(path)),
    [],
  );
  // npm ci wants the manifest of every workspace that the lock file knows
  const { workspaces } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  t.deepEqual(
    copied.filter((path) => path.endsWith('/package.json')).toSorted(),
    workspaces.map((room: string) => `${room}/package.json`).toSorted(),
  );
});

test('the image of the Dockerfile runs the same program as the same user as the one that is built', (t) => {
  const built = read('image/build.ts');
  t.is(argumentsOf(ofKeyword('USER').at(-1)), '65532:65532');
  t.true(read('image/files.ts').includes('id: 65_532'));
  const entry: string[] = JSON.parse(argumentsOf(ofKeyword('ENTRYPOINT').at(-1)));
  t.deepEqual(entry, ['/node', '/app/server/bin/signet.js']);
  for (const word of entry) t.true(built.includes(`'${word}'`), word);
  for (const [keyword, option] of [
    ['WORKDIR', '--workingdir'],
    ['VOLUME', '--volume'],
  ] as const) {
    t.true(built.includes(`'${option}', '${argumentsOf(ofKeyword(keyword).at(-1))}'`), keyword);
  }
  for (const path of ['node_modules', 'server/node_modules', '.git', 'server/dist', '.signet']) {
    const ignored = read('image/Dockerfile.dockerignore').trim().split('\n');
    t.true(
      ignored.some((pattern) => matchesGlob(path, pattern)),
      path,
    );
  }
});

const serviceSchema = z.object({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  volumes: z.array(z.string()).optional(),
  secrets: z.array(z.string()).optional(),
});
const compose = z
  .object({
    services: z.record(z.string(), serviceSchema),
    secrets: z.record(z.string(), z.object({ file: z.string() })),
    volumes: z.record(z.string(), z.null()),
  })
  .parse(parse(read('compose/compose.yaml'), { merge: true }));

test('the compose file has a database, two servers that are the same, and a balancer in front of them', (t) => {
  const { first, second, ...others } = compose.services;
  t.deepEqual(Object.keys(others), ['database', 'balancer']);
  t.deepEqual({ ...first, volumes: [] }, { ...second, volumes: [] });
  t.notDeepEqual(first?.volumes, second?.volumes);
  for (const [name, { secrets = [], volumes = [] }] of Object.entries(compose.services)) {
    for (const secret of secrets) t.true(secret in compose.secrets, name);
    const named = volumes.map((volume) => volume.split(':')[0] ?? '').filter((source) => !source.startsWith('.'));
    for (const volume of named) t.true(volume in compose.volumes, name);
  }
  const options = new Set(optionPaths.map(environmentName));
  const set = Object.keys(first?.environment ?? {}).filter((name) => name.startsWith('SIGNET_'));
  t.true(set.length > 0);
  t.deepEqual(
    set.filter((name) => !options.has(name)),
    [],
  );
});

test('HAProxy takes the configuration of the balancer, and its servers are those of the compose file', (t: ExecutionContext) => {
  const text = read('compose/haproxy.cfg');
  const servers = [...text.matchAll(/^ {4}server (\w+) (\w+):4443$/gm)].map(([, name, host]) => [name, host]);
  t.deepEqual(servers, [
    ['first', 'first'],
    ['second', 'second'],
  ]);
  if (spawnSync('haproxy', ['-v']).status !== 0) {
    t.log('skipped: haproxy is not on this machine');
    return;
  }
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'bundle.pem'), pki.bundle);
  writeFileSync(join(folder, 'haproxy.cfg'), text.replaceAll('/etc/signet/bundle.pem', join(folder, 'bundle.pem')));
  const { status, stderr } = spawnSync('haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')], { encoding: 'utf8' });
  t.is(status, 0, stderr);
  t.notRegex(stderr, /WARNING|ALERT/);
});
